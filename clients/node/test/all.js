'use strict';

/* One file, for the tests to have one server. */
require('./server.js');
require('./set.js');
require('./values.js');
require('./drivers.js');
require('./orms.js');
