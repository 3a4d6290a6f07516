// An editor of one text file under its lock: what it knows and does, without what it looks like.
//
//     state     event                               next state
//     -------   ---------------------------------   ------------------------------------------------
//     held      save(): written, locked again       held
//     held      the lock cannot be renewed          lost: the text stays, nothing can be saved
//     lost      lockAgain(): locked, same version   held
//     any       close()                             closed: the lock is released

import { FileRefusal } from './files_api.js';

// The lock is short, so that a browser that crashed or sleeps does not keep the file. It is renewed every third of it.
const LOCK_TTL = '60s';
export const REFRESH_INTERVAL_MS = 20_000;
export const TEXT_BYTES_MAX = 1024 * 1024;

/** Locks the file and opens it. Throws if it is locked, gone or no text; then it is not locked. */
export async function openEditor(files, path, onChange = () => {}) {
  await files.lock(path, 'acquire', { ttl: LOCK_TTL });
  try {
    const { blob, etag } = await files.read(path);
    if (blob.size > TEXT_BYTES_MAX) throw new Error('The file is too large to be edited here.');
    const text = decode(await blob.arrayBuffer());
    return createEditor(files, path, { text, etag }, onChange);
  } catch (error) {
    await files.lock(path, 'release').catch(() => {});
    throw error;
  }
}

function decode(bytes) {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new Error('The file is not a text.');
  }
}

function createEditor(files, path, version, onChange) {
  let { text: savedText, etag } = version;
  let isBusy = false;
  const editor = {
    path,
    state: 'held',
    message: '',
    text: savedText,
    get isDirty() {
      return editor.text !== savedText;
    },
    get isBusy() {
      return isBusy;
    },

    /** Renews the lock, or finds that it is lost. */
    async refresh() {
      if (editor.state !== 'held' || isBusy) return;
      try {
        await files.lock(path, 'refresh', { ttl: LOCK_TTL });
      } catch (error) {
        // Without an answer nobody knows; the next attempt may tell.
        if (error instanceof FileRefusal && !isBusy && editor.state === 'held') lose(error);
      }
    },

    async save() {
      if (editor.state !== 'held' || isBusy) return;
      await work(async () => {
        const text = editor.text;
        etag = await files.write(path, text, etag);
        savedText = text;
        editor.message = 'Saved.';
        await files.lock(path, 'acquire', { ttl: LOCK_TTL }); // the write has released it
      });
    },

    /** After a loss: only if the file is as it was, because the text was made from it. */
    async lockAgain() {
      if (editor.state !== 'lost' || isBusy) return;
      await work(async () => {
        await files.lock(path, 'acquire', { ttl: LOCK_TTL });
        const current = await files.read(path);
        if (current.etag !== etag) {
          await files.lock(path, 'release').catch(() => {});
          throw new Error(
            'Somebody has changed the file meanwhile. Copy your text, close the editor, and open the file again.',
          );
        }
        editor.state = 'held';
        editor.message = 'The file is locked for you again.';
      });
    },

    async close(options = {}) {
      const wasHeld = editor.state === 'held';
      editor.state = 'closed';
      if (wasHeld) await files.lock(path, 'release', options).catch(() => {});
    },
  };

  function lose(error) {
    editor.state = 'lost';
    editor.message = whyLost(error);
    onChange();
  }

  async function work(steps) {
    isBusy = true;
    editor.message = '';
    onChange();
    try {
      await steps();
    } catch (error) {
      const isLost = error instanceof FileRefusal && [401, 404, 410, 423].includes(error.status);
      if (isLost && editor.state === 'held') lose(error);
      else editor.message = `It did not work: ${whatWentWrong(error)}`;
    } finally {
      isBusy = false;
      onChange();
    }
  }
  return editor;
}

function whyLost(error) {
  const by = error.answer?.lockedBy;
  if (error.status === 401) return 'Your session has ended, and its locks with it. Your text is still here.';
  if (by) return `The lock is lost: ${by} has it now. Your text is still here.`;
  return 'The lock is lost: it was ended or has expired. Your text is still here.';
}

function whatWentWrong(error) {
  if (error instanceof FileRefusal && error.status === 412)
    return 'somebody has changed the file meanwhile. Your text is still here.';
  if (error instanceof FileRefusal && error.answer.lockedBy) return `${error.answer.lockedBy} has locked the file.`;
  return error.message;
}
