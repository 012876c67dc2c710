'use strict';

/* One file, for the tests to have one server. */
require('./server.js');
require('./set.js');
require('./drivers.js');
require('./claim.js');
