import assert from 'node:assert/strict';
import { createPublicKey, verify } from 'node:crypto';
import * as fc from 'fast-check';
import { test } from 'vitest';
import { sha256 } from '../wire/hash.ts';
import {
  cosignatureOf,
  headText,
  NOTE_BYTES_MAX,
  NOTE_SIGNATURES_MAX,
  type Note,
  type NoteClaim,
  noteClaims,
  readHeadText,
  readNote,
  readSignatureLines,
  signatureLine,
  writeNote,
} from './note.ts';
import { noteKey, readVkey } from './note-key.ts';

// The note and the key of the Go implementation's own examples.
const VKEY = 'PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW';
const TEXT =
  'If you think cryptography is the answer to your problem,\n' +
  "then you don't know what your problem is.\n";
const LINE =
  '— PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n';
const PETER = readVkey(VKEY);
assert.ok(PETER);

const ROOT = sha256(new Uint8Array());
const HEAD = { origin: 'svc.example.com/log/1', size: 12, root: ROOT };

function isSigned({ key, message, signature }: NoteClaim): boolean {
  const x = Buffer.from(key.key).toString('base64url');
  const publicKey = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' });
  return verify(null, message, publicKey, signature);
}

test('noteClaims() returns claims that verify from a note of another implementation', () => {
  const note = readNote(`${TEXT}\n${LINE}`);
  assert.ok(note);

  const claims = noteClaims(note, [PETER]);

  assert.equal(note.text, TEXT);
  assert.deepEqual(claims?.map(isSigned), [true]);
  assert.equal(writeNote(note), `${TEXT}\n${LINE}`);
});

test('noteClaims() skips keys it was not given, and equal names with other ids', () => {
  const note = readNote(`${TEXT}\n${LINE}`) as Note;
  const namesake = noteKey('PeterNeumann', 'ed25519', new Uint8Array(32));

  assert.deepEqual(noteClaims(note, []), []);
  assert.deepEqual(noteClaims(note, [namesake]), []);
  assert.deepEqual(noteClaims(note, [{ ...PETER, name: 'Other' }]), []);
});

test('noteClaims() returns every signature of a known key, so that a false one cannot hide', () => {
  const other = LINE.replace('x08go/ZJ', 'x08go/ZK');
  const note = readNote(`${TEXT}\n${LINE}${other}`) as Note;

  assert.deepEqual(noteClaims(note, [PETER])?.map(isSigned), [true, false]);
});

test('noteClaims() reads the time of a cosignature, and what a witness signs', () => {
  const key = noteKey('witness.example', 'cosignature', new Uint8Array(32).fill(7));
  const signature = cosignatureOf(1_679_315_147, new Uint8Array(64).fill(9));
  const text = headText(HEAD);
  const note: Note = { text, signatures: [{ name: key.name, keyId: key.id, signature }] };

  const [claim] = noteClaims(note, [key]) ?? [];

  assert.equal(claim?.time, 1_679_315_147);
  assert.deepEqual(claim?.signature, new Uint8Array(64).fill(9));
  const expected = `cosignature/v1\ntime 1679315147\n${text}`;
  assert.equal(new TextDecoder().decode(claim?.message), expected);
});

for (const length of [0, 63, 65]) {
  test(`noteClaims() refuses a note whose cosignature has ${length} bytes after its time`, () => {
    const key = noteKey('witness.example', 'cosignature', new Uint8Array(32).fill(7));
    const signature = cosignatureOf(1, new Uint8Array(length));
    const note: Note = { text: TEXT, signatures: [{ name: key.name, keyId: key.id, signature }] };

    assert.equal(noteClaims(note, [key]), undefined);
  });
}

test('headText() writes three lines that readHeadText() reads back', () => {
  const expected = `svc.example.com/log/1\n12\n47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=\n`;

  assert.equal(headText(HEAD), expected);
  assert.deepEqual(readHeadText(expected), HEAD);
});

test('headText() throws when a part cannot be written', () => {
  assert.throws(() => headText({ ...HEAD, origin: 'a b' }), /tree head of "a b"/);
  assert.throws(() => headText({ ...HEAD, size: 0.5 }), /size is 0.5/);
  assert.throws(() => headText({ ...HEAD, root: new Uint8Array(31) }), /31 bytes/);
});

const good = headText(HEAD);
const badHeads: Record<string, string> = {
  'without its last line break': good.slice(0, -1),
  'with an empty line more': `${good}\n`,
  'with an empty line between extension lines': `${good}one\n\ntwo\n`,
  'with an extension line that has no end': `${good}more`,
  'with more bytes than a note may have': `${good}${'x'.repeat(NOTE_BYTES_MAX)}\n`,
  'without a root': 'a\n1\n',
  'with a leading zero': good.replace('\n12\n', '\n012\n'),
  'with a sign': good.replace('\n12\n', '\n+12\n'),
  'with a size beyond whole numbers': good.replace('\n12\n', '\n9007199254740992\n'),
  'with an empty origin': good.replace(HEAD.origin, ''),
  'with a root without padding': good.replace('=', ''),
  'with a root of 31 bytes': good.replace(/4.*=/, Buffer.alloc(31).toString('base64')),
};

// C2SP tlog-checkpoint, "Note text": lines after the third are opaque and optional, and an origin is
// any line that is not empty.
const goodHeads: Record<string, [text: string, origin: string]> = {
  'one extension line': [`${good}Timestamp: 1689748607742585419\n`, HEAD.origin],
  'several extension lines': [`${good} a b\n— c\n0\n`, HEAD.origin],
  'a space and a plus in its origin': [good.replace(HEAD.origin, 'a log + 1'), 'a log + 1'],
};
for (const [name, [text, origin]] of Object.entries(goodHeads)) {
  test(`readHeadText() reads a head with ${name}`, () => {
    assert.deepEqual(readHeadText(text), { ...HEAD, origin });
  });
}

for (const [name, text] of Object.entries(badHeads)) {
  test(`readHeadText() refuses a head ${name}`, () => {
    assert.equal(readHeadText(text), undefined);
  });
}

const badNotes: Record<string, string> = {
  'without a signature': `${TEXT}\n`,
  'without an empty line': `${TEXT}${LINE}`,
  'without its last line break': `${TEXT}\n${LINE.slice(0, -1)}`,
  'without a text': `\n\n${LINE}`.slice(1),
  'with a hyphen for the dash': `${TEXT}\n${LINE.replace('—', '-')}`,
  'with a plus in the name': `${TEXT}\n${LINE.replace('Neu', 'N+u')}`,
  'with a third word': `${TEXT}\n${LINE.replace('=\n', '= x\n')}`,
  'with a signature that is only an id': `${TEXT}\n— a x08gow==\n`,
  'with a signature in lax base64': `${TEXT}\n${LINE.replace('AM=', 'AN=')}`,
  'with a tab': `${TEXT}\t\n\n${LINE}`,
  'with a carriage return': `${TEXT}\r\n\n${LINE}`,
  'with a lone surrogate': `${TEXT}\ud800\n\n${LINE}`,
  'with too many signatures': `${TEXT}\n${LINE.repeat(NOTE_SIGNATURES_MAX + 1)}`,
  'with too many bytes': `${'ü'.repeat(NOTE_BYTES_MAX / 2)}\n\n${LINE}`,
};

for (const [name, text] of Object.entries(badNotes)) {
  test(`readNote() refuses a note ${name}`, () => {
    assert.equal(readNote(text), undefined);
  });
}

test('readNote() accepts the maximum number of signatures', () => {
  const note = readNote(`${TEXT}\n${LINE.repeat(NOTE_SIGNATURES_MAX)}`);

  assert.equal(note?.signatures.length, NOTE_SIGNATURES_MAX);
});

test('readNote() splits at the last empty line, so that text cannot pass for signatures', () => {
  const text = `${TEXT}\n${LINE}`;

  assert.equal(readNote(`${text}\n${LINE}`)?.text, text);
});

test('readNote() reads what writeNote() writes, for any signatures', () => {
  const signature = fc.record(
    {
      name: fc.stringMatching(/^[a-z./:-]{1,40}$/),
      keyId: fc.uint8Array({ minLength: 4, maxLength: 4 }),
      signature: fc.uint8Array({ minLength: 1, maxLength: 80 }),
    },
    { noNullPrototype: true },
  );
  const signatures = fc.array(signature, { minLength: 1, maxLength: 20 });

  return fc.assert(
    fc.property(signatures, fc.nat(2 ** 40), (list, size) => {
      const note = { text: headText({ ...HEAD, size }), signatures: list };
      assert.deepEqual(readNote(writeNote(note)), note);
      assert.deepEqual(readSignatureLines(list.map(signatureLine).join('')), list);
    }),
  );
});

test('readNote() never throws, for any text', () => {
  return fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 300 }), fc.nat(200), (junk, at) => {
      const note = `${TEXT}\n${LINE}`;
      readNote(junk);
      readHeadText(junk);
      readSignatureLines(junk);
      const read = readNote(note.slice(0, at) + junk + note.slice(at));
      if (read) noteClaims(read, [PETER]);
    }),
  );
});
