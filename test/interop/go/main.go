/*
 * main.go
 *	  Sets to bytes and back with Go's roaring64.Bitmap.
 *
 * See ../run for what its arguments are and what it has to do.
 */
package main

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/RoaringBitmap/roaring/v2/roaring64"
)

func writeSet(from, to string) error {
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	set := roaring64.New()
	for lines := bytes.NewReader(text); ; {
		var first, last uint64
		if _, err := fmt.Fscanln(lines, &first, &last); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return err
		}
		if last-first >= 100 {
			set.AddRange(first, last) /* without the last */
			set.Add(last)
		} else {
			for i := uint64(0); i <= last-first; i++ {
				set.Add(first + i)
			}
		}
	}
	for _, form := range []string{"plain", "optimized"} {
		if form == "optimized" {
			set.RunOptimize()
		}
		data, err := set.ToBytes()
		if err != nil {
			return err
		}
		if err := os.WriteFile(to+"."+form, data, 0o644); err != nil {
			return err
		}
		if form == "optimized" {
			text := base64.StdEncoding.EncodeToString(data)
			if err := os.WriteFile(to+".base64", []byte(text), 0o644); err != nil {
				return err
			}
		}
	}
	return nil
}

func readBase64(from, to string) error {
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	data, err := base64.StdEncoding.Strict().DecodeString(string(text))
	if err != nil {
		return err
	}
	return readBytes(data, to)
}

func readSet(from, to string) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return readBytes(data, to)
}

func readBytes(data []byte, to string) error {
	set := roaring64.New()
	n, err := set.ReadPortableFrom(bytes.NewReader(data))
	if err != nil {
		return err
	}
	if n != int64(len(data)) {
		return fmt.Errorf("%d of %d bytes were read", n, len(data))
	}
	if err := set.Validate(); err != nil {
		return err
	}
	file, err := os.Create(to)
	if err != nil {
		return err
	}
	out := bufio.NewWriter(file)
	var first, last uint64
	any := false
	for it := set.Iterator(); it.HasNext(); {
		value := it.Next()
		if any && value == last+1 {
			last = value
			continue
		}
		if any {
			fmt.Fprintln(out, first, last)
		}
		any, first, last = true, value, value
	}
	if any {
		fmt.Fprintln(out, first, last)
	}
	if err := out.Flush(); err != nil {
		return err
	}
	return file.Close()
}

func main() {
	work := map[string]func(string, string) error{
		"write": writeSet, "read": readSet, "read-base64": readBase64}[os.Args[2]]
	files, err := os.ReadDir(os.Args[3])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	status := 0
	for _, file := range files {
		name := file.Name()
		if err := work(filepath.Join(os.Args[3], name), filepath.Join(os.Args[4], name)); err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
			status = 1
		}
	}
	os.Exit(status)
}
