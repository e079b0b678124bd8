// Takes the lock of FILE and holds it until its input ends. Prints "locked", or
// the code of the error. Its lock is renewed as proper-lockfile does it.
'use strict';
const lockfile = require('proper-lockfile');
const [file, stale, retries] = process.argv.slice(2);
const options = { stale: Number(stale), retries: { retries: Number(retries), minTimeout: 5, maxTimeout: 100 }, lockfilePath: file + '.lock' };
lockfile.lock(file, options).then((release) => {
  console.log('locked');
  process.stdin.resume();
  process.stdin.on('end', () => release().then(() => process.exit(0), (err) => { console.error(err); process.exit(1); }));
}, (err) => { console.log(err.code); process.exit(0); });
