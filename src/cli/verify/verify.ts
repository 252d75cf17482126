/**
 * `writ verify`: checks what a service signed, from files or from the service itself, and prints what
 * was checked, what failed, and what could not be.
 *
 * Exits with 0 only when everything verified, with 1 when something failed, and with
 * 2 when something could not be checked. `src/verify` decides which of them it is.
 *
 * @module
 */

import { createReadStream, statSync } from 'node:fs';
import { printable } from '../../domain/wire/printable.ts';
import { verifyCheckpoint } from '../../verify/checkpoint.ts';
import { verifyConsistency } from '../../verify/consistency.ts';
import { verifyEntry } from '../../verify/entry.ts';
import { verifyExport } from '../../verify/export/export.ts';
import { verifyGrant } from '../../verify/grant.ts';
import { verifyManifest } from '../../verify/manifest.ts';
import { hasSignature, verifyReceipt, verifySignedReceipt } from '../../verify/receipt.ts';
import type { Check, Report, Verdict } from '../../verify/report.ts';
import { verifyToken } from '../../verify/token.ts';
import { CREDENTIAL_VARIABLE, credentialOf } from '../login/session.ts';
import { type Group, type Io, type Leaf, leaf } from '../shell/command.ts';
import { EXIT_FAILED, EXIT_FOUND, EXIT_OK } from '../shell/exit.ts';
import { bytesIn, namingFile, readJsonFile } from '../shell/files.ts';
import { flag, type Given, needed, type Options, value } from '../shell/options.ts';
import { printJson, startProgress } from '../shell/output.ts';
import { remoteAt } from '../shell/remote.ts';
import { coveringEntry, coveringLeaf, fetchExtending, fetchedManifest, newest } from './fetch.ts';
import {
  checkpointAnchors,
  keySource,
  namedService,
  readAnchors,
  type Sources,
  sourcesOf,
  VERIFY_OPTIONS,
} from './options.ts';
import { folderReport } from './stream.ts';

export function verifyCommand(): Group {
  return {
    name: 'verify',
    summary: 'verify what a service signed, with its keys alone',
    about:
      'Verifies what a service signed, from files or from the service itself. Keys fetched from the service prove only what the service claims: pin them.',
    commands: [
      tokenKind,
      manifestKind,
      grantKind,
      checkpointKind,
      entryKind,
      consistencyKind,
      receiptKind,
      logKind,
      streamKind,
    ],
  };
}

const EXIT_CODES = {
  verified: EXIT_OK,
  failed: EXIT_FOUND,
  incomplete: EXIT_FAILED,
} as const satisfies Record<Verdict, number>;

interface KindSpec<Operands extends Options, Own extends Options>
  extends Pick<Leaf, 'name' | 'summary' | 'examples'> {
  readonly about?: string;
  readonly operands: Operands;
  readonly options?: Own;
  report(given: Given<Operands> & Given<Own>, sources: Sources, io: Io): Promise<Report>;
}

// biome-ignore lint/complexity/noBannedTypes: no options of its own are the default.
function kind<Operands extends Options, Own extends Options = {}>(
  spec: KindSpec<Operands, Own>,
): Leaf {
  const { options, report, ...named } = spec;
  return leaf<Operands, Own & typeof VERIFY_OPTIONS>({
    ...named,
    options: { ...(options as Own), ...VERIFY_OPTIONS },
    exits: [
      [EXIT_OK, 'everything verified'],
      [EXIT_FOUND, 'something failed'],
      [EXIT_FAILED, 'something could not be checked'],
    ],
    cannot: 'verify',
    async run(given, io) {
      const found = await report(given, sourcesOf(given), io);
      if (given.json) printJson(io, jsonReport(spec.name, found));
      else io.out(textReport(found));
      return EXIT_CODES[found.verdict];
    },
  });
}

const tokenKind = kind({
  name: 'token',
  summary: 'verify a delegation token',
  operands: { file: value('<file>', 'the token, or - for standard input (default)') },
  examples: [['writ verify token --jwks jwks.json < token.txt', 'by keys that you saved']],
  async report({ file }, sources, io) {
    const isPiped = file === undefined || file === '-';
    const text = isPiped ? await io.input?.() : new TextDecoder().decode(bytesIn(file));
    return verifyToken((text ?? '').trim(), await readAnchors(sources));
  },
});

const manifestKind = kind({
  name: 'manifest',
  summary: 'verify a manifest and its X-SVC-Signature',
  about:
    'Verifies a manifest as it came, and its X-SVC-Signature: from a file, or fetched from --service.',
  operands: { file: value('<file>', 'the body as it came (default: fetched from --service)') },
  options: {
    signature: value('<jws>', 'the header X-SVC-Signature of the file'),
    'gated-manifest': flag(
      'send a credential to fetch the manifest, for a service that requires one; it is sent before anything is verified',
    ),
    'token-file': value('<file>', `a file with that credential (default: $${CREDENTIAL_VARIABLE})`),
  },
  examples: [
    [
      'writ verify manifest --service http://127.0.0.1:8420 --pin rGBHRS2LcQHYpuw…',
      'of a running service, by a key that you know',
    ],
  ],
  async report({ file, signature, ...given }, sources, io) {
    if (given['token-file'] !== undefined && !given['gated-manifest']) {
      throw new Error('--token-file is for a gated manifest; give --gated-manifest too');
    }
    const isGated = given['gated-manifest'];
    const credential = isGated ? credentialOf(given['token-file'], io) : undefined;
    if (file === undefined && sources.remote) {
      const remote = remoteAt(sources.remote.url, credential);
      return verifyManifest(await fetchedManifest(remote), await readAnchors(sources));
    }
    if (file === undefined || signature === undefined) {
      throw new Error('expected a file and --signature, or --service');
    }
    return verifyManifest({ body: bytesIn(file), signature }, await readAnchors(sources));
  },
});

const grantKind = kind({
  name: 'grant',
  summary: 'verify an approval grant',
  operands: { file: needed('<file>', 'the grant') },
  examples: [['writ verify grant grant.json --jwks jwks.json', 'by keys that you saved']],
  async report({ file }, sources) {
    return verifyGrant(readJsonFile(file), await readAnchors(sources));
  },
});

const checkpointKind = kind({
  name: 'checkpoint',
  summary: 'verify a checkpoint, with its note where it has one',
  operands: { file: value('<file>', 'the checkpoint (default: the newest of --service)') },
  examples: [['writ verify checkpoint --service http://127.0.0.1:8420', 'the newest of a service']],
  async report({ file }, sources) {
    const found = file === undefined ? await newest(sources.remote) : readJsonFile(file);
    return verifyCheckpoint(found, await checkpointAnchors(sources));
  },
});

const SECOND = {
  checkpoint: value(
    '<file>',
    'the detail of a checkpoint with the proof (default: from --service)',
  ),
} as const;

const entryKind = kind({
  name: 'entry',
  summary: 'verify an entry of the log by its inclusion proof',
  operands: { file: needed('<file>', 'the entry with its leaf'), ...SECOND },
  examples: [
    ['writ verify entry entry.json --service http://127.0.0.1:8420', 'with a fetched proof'],
  ],
  async report({ file, checkpoint: second }, sources) {
    const entry = onlyEntry(readJsonFile(file));
    const checkpoint = second ? readJsonFile(second) : await coveringEntry(sources.remote, entry);
    return verifyEntry({ entry, checkpoint }, await checkpointAnchors(sources));
  },
});

const consistencyKind = kind({
  name: 'consistency',
  summary: 'verify that a later checkpoint extends an earlier one',
  operands: {
    earlier: needed('<file>', 'the earlier checkpoint'),
    later: value('<file>', 'the later one, with its proof (default: from --service)'),
  },
  examples: [
    ['writ verify consistency kept.json --service http://127.0.0.1:8420', 'the log only grew'],
  ],
  async report({ earlier: file, later: second }, sources) {
    const earlier = readJsonFile(file);
    const later = second ? readJsonFile(second) : await fetchExtending(sources.remote, earlier);
    return verifyConsistency({ earlier, later }, await checkpointAnchors(sources));
  },
});

const TRAIL = { trail: flag('accept a trail instead of a whole log') } as const;

const receiptKind = kind({
  name: 'receipt',
  summary: 'verify that the log has the entry of a receipt',
  about:
    'Verifies the receipt of an invocation by an inclusion proof, or with --log against a whole log. A signed receipt can prove a drop by itself, another one with --after.',
  operands: { file: needed('<file>', 'the receipt, or the answer that carries it'), ...SECOND },
  options: {
    signed: flag(
      'verify only that the service signed the receipt; needs no service and no checkpoint',
    ),
    log: value('<export>', 'what "writ audit export" wrote'),
    after: value(
      '<file>',
      'the newest checkpoint, fetched after the receipt came; for --log, whose log must have two more',
    ),
    ...TRAIL,
  },
  examples: [
    ['writ verify receipt answer.json --service http://127.0.0.1:8420', 'with a fetched proof'],
    ['writ verify receipt answer.json --log desk.log --after after.json', 'against a whole log'],
    [
      'writ verify receipt answer.json --signed --jwks jwks.json --service-id travel-desk',
      'the signature alone',
    ],
  ],
  async report({ file, checkpoint: second, ...given }, sources, io) {
    if (given.signed && (second !== undefined || given.log !== undefined)) {
      throw new Error('--signed verifies the receipt alone; give no checkpoint and no --log');
    }
    const receipt = receiptIn(readJsonFile(file));
    if (given.signed) return verifySignedReceipt(receipt, await checkpointAnchors(sources));
    if (given.log !== undefined) {
      return exportReport(given.log, { ...given, sources, receipt }, io);
    }
    const isAlone = !second && !sources.remote && hasSignature(receipt);
    const fetched = () => (isAlone ? undefined : coveringLeaf(sources.remote, receipt));
    const checkpoint = second ? readJsonFile(second) : await fetched();
    return verifyReceipt({ receipt, checkpoint }, await checkpointAnchors(sources));
  },
});

const logKind = kind({
  name: 'log',
  summary: 'verify what "writ audit export" wrote',
  operands: { export: needed('<file>', 'what "writ audit export" wrote') },
  options: TRAIL,
  examples: [['writ verify log desk.log --pin rGBHRS2LcQHYpuw…', 'by a key that you know']],
  report: ({ export: file, trail }, sources, io) => exportReport(file, { sources, trail }, io),
});

const streamKind = kind({
  name: 'stream',
  summary: 'verify the chunks that "writ audit stream" wrote',
  operands: { folder: needed('<folder>', 'the folder of the chunks') },
  examples: [['writ verify stream chunks --pin rGBHRS2LcQHYpuw…', 'by a key that you know']],
  async report({ folder }, sources, io) {
    const { allowErased } = sources;
    const [keys, serviceId] = [await keySource(sources), await namedService(sources)];
    return folderReport(folder, { keys, now: new Date(), serviceId, allowErased }, io);
  },
});

interface ExportAsked {
  readonly sources: Sources;
  readonly trail: boolean;
  readonly after?: string | undefined;
  readonly receipt?: unknown;
}

async function exportReport(
  file: string,
  { sources, trail, receipt, ...asked }: ExportAsked,
  io: Io,
): Promise<Report> {
  const { allowErased } = sources;
  const serviceId = await namedService(sources);
  const after = asked.after === undefined ? undefined : onlyCheckpoint(readJsonFile(asked.after));
  const facts = { now: new Date(), serviceId, allowErased, receipt, after, isTrail: trail };
  return verifyExport(piecesOf(file, io), { keys: await keySource(sources), ...facts });
}

/** The bytes of a file. Says how far it is read. */
async function* piecesOf(file: string, io: Io): AsyncGenerator<Uint8Array> {
  const progress = startProgress(io);
  const mebibytes = (bytes: number) => (bytes / 2 ** 20).toFixed(1);
  try {
    const { size } = namingFile(file, () => statSync(file));
    let read = 0;
    for await (const piece of createReadStream(file)) {
      yield piece as Uint8Array;
      read += piece.length;
      progress.say(`verified ${mebibytes(read)} of ${mebibytes(size)} MiB`);
    }
  } finally {
    progress.end();
  }
}

/** An entry, or an answer of the audit endpoint with exactly one. */
function onlyEntry(value: unknown): unknown {
  const { entries } = (value ?? {}) as { entries?: unknown };
  return Array.isArray(entries) && entries.length === 1 ? entries[0] : value;
}

/** A checkpoint, or a listing with exactly one. */
function onlyCheckpoint(value: unknown): unknown {
  const { checkpoints } = (value ?? {}) as { checkpoints?: unknown };
  return Array.isArray(checkpoints) && checkpoints.length === 1 ? checkpoints[0] : value;
}

/** A receipt, or the answer of an invocation that carries it. */
function receiptIn(value: unknown): unknown {
  const { audit } = (value ?? {}) as { audit?: unknown };
  return audit ?? value;
}

function jsonReport(what: string, { verdict, checks, limits }: Report): object {
  return { what, verdict, checks, limits };
}

const OUTCOMES = {
  ok: 'ok',
  failed: 'FAILED',
  not_checked: 'not checked',
} as const satisfies Record<Check['outcome'], string>;

const VERDICTS = {
  verified: 'Verified',
  failed: 'Not verified: it failed',
  incomplete: 'Not verified: not all could be checked',
} as const satisfies Record<Verdict, string>;

function textReport({ verdict, checks, limits }: Report): string {
  const names = checks.map(({ what }) => printable(what));
  const width = Math.max(...names.map((name) => name.length));
  const lines = checks.map(({ outcome, detail }, index) => {
    const start = `${OUTCOMES[outcome].padEnd(12)} ${(names[index] ?? '').padEnd(width)}`;
    return `${start}  ${printable(detail ?? '')}`.trimEnd();
  });
  const beyond = limits.map((limit) => `Not covered: ${limit}`);
  return `${[...lines, ...beyond, VERDICTS[verdict]].join('\n')}\n`;
}
