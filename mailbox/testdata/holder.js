// Takes the lock of FILE, says "locked" or the error's code, holds it until its
// input ends, and releases it.
'use strict';
const lockfile = require('proper-lockfile');
const [file, retries] = process.argv.slice(2);
lockfile.lock(file, { retries: { retries: Number(retries), minTimeout: 5, maxTimeout: 100 } }).then((release) => {
  console.log('locked');
  process.stdin.resume();
  process.stdin.on('end', () => release().then(() => process.exit(0), (err) => { console.error(err); process.exit(1); }));
}, (err) => { console.log(err.code); process.exit(0); });
