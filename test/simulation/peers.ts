/**
 * Peers of a simulation: the receiver of webhooks, a witness, and the place of the mark.
 *
 * They refuse, are slow, never answer, get a request whose answer is lost, or lie, as the faults of the run say.
 *
 * @module
 */

import { generateKeyPairSync, hash, sign } from 'node:crypto';
import { isConsistent } from '../../src/domain/log/merkle-proof.ts';
import type {
  CallOut,
  OutboundAnswer,
  OutboundRequest,
} from '../../src/service/outbound/outbound.ts';
import { type MarkPlace, type MarkStore, markIn } from '../../src/storage/port/mark.ts';
import type { CheckpointRecord } from '../../src/storage/port/records.ts';
import { StoreUnavailable } from '../../src/storage/port/store.ts';
import type { SimEvent } from './events.ts';
import type { Faults } from './faults.ts';
import type { Life } from './port.ts';
import type { Owner, World } from './world.ts';

export const HOOK_URL = 'https://hooks.example/notices';
export const WITNESS_URL = 'https://witness.example';
const WITNESS_NAME = 'witness.example/w1';

/** In milliseconds: how slow a slow peer is at most. Longer than the timeout of a witness. */
const SLOW_MS = 7_000;

/** Refusals of one notice. The pause after a third one would outlast a run. */
const REFUSALS_MAX = 2;

export interface Peers {
  callOut(life: Life): CallOut;
  mark(life: Life): MarkStore;
}

interface PeerParts {
  readonly world: World;
  readonly faults: Faults;
  readonly outside: Owner;
  emit(event: SimEvent): void;
}

export function createPeers(parts: PeerParts): Peers {
  const witness = createWitness(parts);
  const receiver = createReceiver(parts);
  const marks = new Map<string, string>();
  const counts = new Map<string, number>();
  return {
    callOut: (life) => (request) => {
      const answer = request.url === HOOK_URL ? receiver : witness;
      return called(parts, life, { request, answer, counts });
    },
    mark: (life) => markOf(parts, life, marks),
  };
}

/** What a peer does with a request: whether it gets it, and what it answers. */
interface Calling {
  readonly request: OutboundRequest;
  readonly counts: Map<string, number>;
  answer(request: OutboundRequest, isLying: boolean): Partial<OutboundAnswer>;
}

function called(
  { world, faults, outside }: PeerParts,
  life: Life,
  { request, answer, counts }: Calling,
): Promise<OutboundAnswer> {
  const name = `${request.url} ${request.headers?.['webhook-id'] ?? ''}`;
  const count = (counts.get(name) ?? 0) + 1;
  counts.set(name, count);
  const drawn = faults.at(`peer ${name} ${count}`);
  const rate = request.url === HOOK_URL && count > REFUSALS_MAX ? 0 : faults.rate('peers');
  const isFaulty = drawn.is(rate);
  const fault = drawn.pick(['refuses', 'never', 'lost', 'slow', 'lies', 'fails'] as const);
  const slowMs = drawn.below(SLOW_MS);
  const does = isFaulty ? fault : 'answers';
  if (isFaulty) faults.hit('peers');
  return new Promise((resolve, reject) => {
    const fail = (why: string) => reject(new Error(`Cannot call the peer: ${why}`));
    const late = world.after(request.timeoutMs, life.loop, () => fail('no answer in time'));
    const end = (run: () => void) => () => {
      late.cancel();
      run();
    };
    const replies = (reply: Partial<OutboundAnswer>) => {
      const { status = 500, headers = {}, body = Buffer.alloc(0) } = reply;
      const run = end(() => resolve({ status, headers, body }));
      if (does === 'slow') world.after(slowMs, life.loop, run);
      else world.park(life.owner, run);
    };
    world.park(outside, () => {
      if (does === 'refuses')
        world.park(
          life.owner,
          end(() => fail('it refuses')),
        );
      else if (does === 'fails') replies({});
      else if (does !== 'never') {
        const reply = answer(request, does === 'lies');
        if (does !== 'lost') replies(reply);
      }
    });
  });
}

function createReceiver({ emit }: PeerParts): Calling['answer'] {
  return ({ headers }, isLying) => {
    if (isLying) return { status: 429, headers: { 'retry-after': '20' } };
    emit({ kind: 'delivery', id: headers?.['webhook-id'] ?? '' });
    return { status: 204 };
  };
}

const KEYS = generateKeyPairSync('ed25519');
const RAW_KEY = Buffer.from(`${KEYS.publicKey.export({ format: 'jwk' }).x}`, 'base64url');
const TYPED_KEY = Buffer.concat([Buffer.of(0x04), RAW_KEY]);
const KEY_ID = hash(
  'sha256',
  Buffer.concat([Buffer.from(`${WITNESS_NAME}\n`), TYPED_KEY]),
  'buffer',
).subarray(0, 4);
export const WITNESS_VKEY = `${WITNESS_NAME}+${KEY_ID.toString('hex')}+${TYPED_KEY.toString('base64')}`;

/** A witness as in C2SP tlog-witness. It trusts every log, because only one asks. */
function createWitness({ emit }: PeerParts): Calling['answer'] {
  let last: { size: number; root: Uint8Array } = {
    size: 0,
    root: new Uint8Array(hash('sha256', '', 'buffer')),
  };
  return ({ body }, isLying) => {
    const [head = '', text = ''] = String(body).split('\n\n');
    const [first = '', ...lines] = head.split('\n');
    const old = Number(/^old (\d+)$/.exec(first)?.[1]);
    const [, digits, encoded = ''] = text.split('\n');
    const size = Number(digits);
    const toRoot = new Uint8Array(Buffer.from(encoded, 'base64'));
    if (isLying) return lie(size);
    if (old > size) return { status: 400 };
    if (old !== last.size) return { status: 409, body: Buffer.from(`${last.size}\n`) };
    const proof = lines.map((line) => new Uint8Array(Buffer.from(line, 'base64')));
    const isExtended = isConsistent({ from: old, to: size, fromRoot: last.root, toRoot, proof });
    if (!isExtended) return { status: 422 };
    last = { size, root: toRoot };
    emit({ kind: 'witness', size, root: toRoot });
    return { status: 200, body: Buffer.from(cosignature(text)) };
  };
}

function lie(size: number): Partial<OutboundAnswer> {
  return size % 2 === 0
    ? { status: 409, body: Buffer.from(`${size + 1_000}\n`) }
    : { status: 200, body: Buffer.from(`\u2014 ${WITNESS_NAME} AAAA\n`) };
}

function cosignature(text: string): string {
  const time = Buffer.alloc(8);
  time.writeBigUInt64BE(1_900_000_000n);
  const signed = sign(
    null,
    Buffer.from(`cosignature/v1\ntime 1900000000\n${text}\n`),
    KEYS.privateKey,
  );
  return `\u2014 ${WITNESS_NAME} ${Buffer.concat([KEY_ID, time, signed]).toString('base64')}\n`;
}

/** The mark of one life of a replica. All share one place. */
function markOf(
  { world, faults, emit }: PeerParts,
  life: Life,
  marks: Map<string, string>,
): MarkStore {
  const moving = new Set<CheckpointRecord>();
  let asked = 0;
  const reach = <Result>(run: () => Result): Promise<Result> => {
    asked += 1;
    const drawn = faults.at(`mark ${life.label} ${asked}`);
    const failsBefore = drawn.is(faults.rate('mark'));
    const failsAfter = drawn.is(faults.rate('mark'));
    return new Promise((resolve, reject) => {
      const fail = () => {
        faults.hit('mark');
        reject(new StoreUnavailable('Cannot use the mark: it is out of reach'));
      };
      world.park(life.owner, () => {
        if (failsBefore) return fail();
        const result = run();
        world.park(life.owner, () => (failsAfter ? fail() : resolve(result)));
      });
    });
  };
  const place: MarkPlace = {
    read: (key) => reach(() => marks.get(key)),
    replace: (key, from, to) =>
      reach(() => {
        if (marks.get(key) !== from) return false;
        marks.set(key, to);
        const checkpoint = [...moving].find(({ checkpoint_id: id }) => to.includes(id));
        if (checkpoint) emit({ kind: 'mark', replica: life.replica, checkpoint });
        return true;
      }),
    close: async () => undefined,
  };
  const mark = markIn(place);
  return {
    ...mark,
    async advance(logId, from, to) {
      moving.add(to);
      try {
        return await mark.advance(logId, from, to);
      } finally {
        moving.delete(to);
      }
    },
  };
}
