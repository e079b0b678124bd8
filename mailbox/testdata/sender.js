// Appends COUNT messages to the mailbox FILE as the real client does (WIRE 2.3):
// create, lock, read, push, temporary file, rename, release. What it cannot lock it
// tries again, so that exactly COUNT messages arrive. Prints "ack N" for each,
// and at the end how often the lock could not be had within all tries.
'use strict';
const fs = require('fs');
const lockfile = require('proper-lockfile');
const [file, sender, count, stale] = process.argv.slice(2);
const options = { retries: { retries: 10, minTimeout: 5, maxTimeout: 100 }, lockfilePath: file + '.lock', stale: Number(stale || 10000) };

let elocked = 0;
async function lock() {
  for (;;) {
    try {
      return await lockfile.lock(file, options);
    } catch (err) {
      if (err.code !== 'ELOCKED') throw err;
      elocked++;
    }
  }
}

(async () => {
  try { fs.writeFileSync(file, '[]', { flag: 'wx' }); } catch (err) { if (err.code !== 'EEXIST') throw err; }
  for (let i = 0; i < Number(count); i++) {
    const release = await lock();
    const list = JSON.parse(fs.readFileSync(file, 'utf8'));
    list.push({ from: sender, text: `${sender}/${i}`, timestamp: new Date().toISOString(), read: false });
    const tmp = `${file}.tmp.${Math.random().toString(16).slice(2, 10)}`;
    fs.writeFileSync(tmp, JSON.stringify(list, null, 2), { flag: 'wx' });
    fs.renameSync(tmp, file);
    await release();
    console.log(`ack ${i}`);
  }
  console.log(`elocked ${elocked}`);
})().catch((err) => { console.error(err); process.exit(1); });
