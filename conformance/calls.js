// Streams, workers, children and timers of Node; prints no times.
const { spawn } = require('child_process');
const crypto = require('crypto');
const fs = require('fs');
const { Worker, isMainThread, parentPort } = require('worker_threads');

const digest = (stream) => new Promise((resolve, reject) => {
    const hash = crypto.createHash('sha256');
    stream.on('data', (chunk) => hash.update(chunk)).on('end', () => resolve(hash.digest('hex'))).on('error', reject);
});

async function main() {
    const noise = `${process.env.IN}/noise`;
    console.log('file', await digest(fs.createReadStream(noise, { highWaterMark: 1 << 18 })));
    const cat = spawn('cat');
    fs.createReadStream(noise).pipe(cat.stdin);
    console.log('through cat', await digest(cat.stdout));
    const out = fs.createWriteStream('copy');
    fs.createReadStream(noise).pipe(out);
    await new Promise((resolve) => out.on('finish', resolve));
    console.log('copied', fs.statSync('copy').size);
    const workers = [1, 2, 3].map(() => new Promise((resolve) => new Worker(__filename).on('message', resolve)));
    console.log('workers', (await Promise.all(workers)).join(' '));
    for (let i = 0; i < 10; i++) await new Promise((resolve) => setTimeout(resolve, 20));
    const failed = spawn('sh', ['-c', 'sleep 0.1; exit 7']);
    console.log('child', await new Promise((resolve) => failed.on('exit', resolve)));
}

if (isMainThread) {
    main();
} else {
    let sum = 0;
    for (let i = 0; i < 3e6; i++) sum = (sum * 31 + i) % 1000003;
    parentPort.postMessage(sum);
}
