import assert from 'node:assert/strict';
import { test } from 'node:test';
import { filesAddress, FileRefusal, readable } from './files_api.js';
import { openEditor } from './files_editor.js';

/** A file door with one file, whose lock and version the test changes. */
function door({ text = 'hello' } = {}) {
  const self = { text, etag: '"1"', lockedBy: null, asked: [] };
  const locked = () => new FileRefusal(423, { error: 'File is locked', lockedBy: self.lockedBy });
  self.lock = async (path, action) => {
    self.asked.push(action);
    if (self.offline) throw new TypeError('no network');
    if (action === 'acquire') {
      if (self.lockedBy && self.lockedBy !== 'me') throw locked();
      self.lockedBy = 'me';
    } else {
      if (self.lockedBy !== 'me') throw new FileRefusal(404, { error: 'No lock', message: 'No lock' });
      if (action === 'release') self.lockedBy = null;
    }
    return {};
  };
  self.read = async () => ({ blob: new Blob([self.text]), etag: self.etag });
  self.write = async (path, content, etag) => {
    self.asked.push('write');
    if (self.lockedBy && self.lockedBy !== 'me') throw locked();
    if (etag !== self.etag) throw new FileRefusal(412, { error: 'Precondition Failed', message: 'x' });
    self.text = content;
    self.lockedBy = null; // a write releases
    self.etag = `"${Number(self.etag.slice(1, -1)) + 1}"`;
    return self.etag;
  };
  return self;
}

test('a file is locked while it is edited, saved under its lock, and released when it is closed', async () => {
  const files = door();
  const editor = await openEditor(files, '/a');
  assert.equal(files.lockedBy, 'me');
  assert.equal(editor.isDirty, false);
  editor.text = 'hello again';
  assert.equal(editor.isDirty, true);
  await editor.save();
  assert.deepEqual([files.text, editor.isDirty, editor.state], ['hello again', false, 'held']);
  assert.equal(files.lockedBy, 'me', 'locked again after the write');
  editor.text = 'third';
  await editor.save();
  assert.equal(files.text, 'third');
  await editor.refresh();
  await editor.close();
  assert.equal(files.lockedBy, null);
});

test('an editor that cannot open the file leaves no lock behind', async () => {
  const held = door();
  held.lockedBy = 'somebody';
  await assert.rejects(openEditor(held, '/a'), FileRefusal);
  assert.equal(held.lockedBy, 'somebody');
  const binary = door({ text: new Uint8Array([0xff, 0xfe, 0x00]) });
  await assert.rejects(openEditor(binary, '/a'), /not a text/);
  assert.equal(binary.lockedBy, null);
  const large = door({ text: 'x'.repeat(1024 * 1024 + 1) });
  await assert.rejects(openEditor(large, '/a'), /too large/);
  assert.equal(large.lockedBy, null);
});

test('an editor whose lock was lost says so and keeps the text', async () => {
  const files = door();
  let told = 0;
  const editor = await openEditor(files, '/a', () => (told += 1));
  editor.text = 'my work';
  files.lockedBy = 'somebody';
  await editor.refresh();
  assert.equal(editor.state, 'lost');
  assert.match(editor.message, /lock is lost/);
  assert.ok(told > 0);
  await editor.save();
  assert.equal(files.text, 'hello', 'nothing is written without the lock');
  assert.equal(editor.text, 'my work');
  await editor.lockAgain();
  assert.equal(editor.state, 'lost');
  assert.match(editor.message, /somebody has locked the file/);
  files.lockedBy = null;
  await editor.lockAgain();
  assert.equal(editor.state, 'held');
  await editor.save();
  assert.equal(files.text, 'my work');
});

test('a lock that is lost at the save is noticed then', async () => {
  const files = door();
  const editor = await openEditor(files, '/a');
  editor.text = 'my work';
  files.lockedBy = 'somebody';
  await editor.save();
  assert.equal(editor.state, 'lost');
  assert.match(editor.message, /somebody has it now/);
  assert.equal(editor.text, 'my work');
});

test('a file that was changed meanwhile is not overwritten', async () => {
  const files = door();
  const editor = await openEditor(files, '/a');
  editor.text = 'my work';
  files.text = 'other work';
  files.etag = '"7"';
  await editor.save();
  assert.equal(files.text, 'other work');
  assert.match(editor.message, /changed the file meanwhile/);
  files.lockedBy = null;
  await editor.refresh();
  await editor.lockAgain();
  assert.equal(editor.state, 'lost');
  assert.equal(files.lockedBy, null, 'the lock is not kept for nothing');
  assert.equal(editor.text, 'my work');
});

test('a lost connection is not a lost lock', async () => {
  const files = door();
  const editor = await openEditor(files, '/a');
  files.offline = true;
  await editor.refresh();
  assert.equal(editor.state, 'held');
});

test('the page finds the door at the port beside its own, or by the address that is named', () => {
  const status = (files, named = '') => ({
    listeners: [
      { name: 'http', address: '0.0.0.0:8080', tls: false },
      ...(files ? [{ name: 'files', address: files, tls: false }] : []),
    ],
    configuration: { 'files-url': named },
  });
  const at = (url) => new URL(url);
  assert.equal(filesAddress(null, at('http://box:8080')), null);
  assert.equal(filesAddress(status(null), at('http://box:8080')), null);
  assert.equal(filesAddress(status('0.0.0.0:8081'), at('http://box:8080')), 'http://box:8081');
  assert.equal(filesAddress(status('[::1]:8081'), at('http://[::1]:8080')), 'http://[::1]:8081');
  assert.equal(filesAddress(status('127.0.0.1:8081', 'https://f.example'), at('https://d.example')), 'https://f.example');
  assert.equal(filesAddress(status('unix:/run/files.sock'), at('http://box:8080')), null);
  assert.equal(readable('/a%20b/100%25.txt'), '/a b/100%.txt');
});
