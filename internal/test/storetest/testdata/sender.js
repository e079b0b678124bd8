// Appends COUNT messages to the mailbox FILE as the real client does (WIRE 2.3),
// with its retries: create, lock, read, push, temporary file, rename, release.
// What it cannot lock it drops, and says so. Prints "ack N" or "dropped N" for
// each message. A file that is not a JSON array counts as empty, as it does there.
'use strict';
const fs = require('fs');
const lockfile = require('proper-lockfile');
const [file, sender, count] = process.argv.slice(2);
const options = { retries: { retries: 10, minTimeout: 5, maxTimeout: 100 }, lockfilePath: file + '.lock', onCompromised: (err) => console.error(sender, err.code) };

function read() {
  try {
    const list = JSON.parse(fs.readFileSync(file, 'utf8'));
    return Array.isArray(list) ? list : [];
  } catch (err) {
    if (err instanceof SyntaxError) return [];
    throw err;
  }
}

async function send(i) {
  let release;
  try {
    release = await lockfile.lock(file, options);
  } catch (err) {
    if (err.code !== 'ELOCKED') throw err;
    console.log(`dropped ${i}`);
    return;
  }
  const list = read();
  list.push({ from: sender, text: `${sender}/${i}`, timestamp: new Date().toISOString(), read: false });
  const tmp = `${file}.tmp.${Math.random().toString(16).slice(2, 10)}`;
  fs.writeFileSync(tmp, JSON.stringify(list, null, 2), { flag: 'wx' });
  fs.renameSync(tmp, file);
  await release();
  console.log(`ack ${i}`);
}

(async () => {
  try { fs.writeFileSync(file, '[]', { flag: 'wx' }); } catch (err) { if (err.code !== 'EEXIST') throw err; }
  for (let i = 0; i < Number(count); i++) await send(i);
})().catch((err) => { console.error(err); process.exit(1); });
