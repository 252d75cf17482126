/**
 * Clients of a simulation: they perform the acts, each hand one after the other, through the methods that a
 * transport calls.
 *
 * @module
 */

import type { Failure } from '../../src/protocol/failure.ts';
import { isDocument, perform } from '../../src/service/operations/operations.ts';
import type { Act } from './acts.ts';
import type { Replica, Scene } from './replica.ts';
import {
  asking,
  eventOf,
  keyOf,
  type Made,
  plainQuestion,
  type Question,
  revocationOf,
  type Sent,
  sentBy,
  termsInput,
  usedBy,
} from './requests.ts';

// biome-ignore lint/suspicious/noExplicitAny: a client reads whatever came back.
type Body = any;

export interface Clients {
  /** Whether every act was performed, skipped or given up. */
  areDone(): boolean;
  /** Questions without an answer. */
  open(): number;
}

export interface Stage extends Scene {
  readonly replicas: readonly Replica[];
  stepStoreClock(ms: number): void;
  fillDisk(ms: number): void;
}

export function startClients(stage: Stage, acts: readonly Act[]): Clients {
  const { world, outside } = stage;
  const made = new Map<number, Made>();
  const isThere = new Set(acts.map(({ place }) => place));
  const done = new Set<number>();
  const performing = createPerformer(stage, made);
  const hands = new Map<number, Act[]>();
  for (const act of acts) hands.set(act.hand, [...(hands.get(act.hand) ?? []), act]);
  const idle = new Set<() => void>();
  let running = hands.size;

  const isReady = (act: Act) =>
    refsOf(act).every((place) => done.has(place) || !isThere.has(place));
  const finish = (act: Act, result: Made) => {
    made.set(act.place, result);
    done.add(act.place);
    for (const wake of [...idle]) wake();
  };
  for (const queue of hands.values()) {
    const outsideQueue = world.queue(outside);
    const next = () => {
      const act = queue.shift();
      if (!act) {
        running -= 1;
        return;
      }
      const begin = () => {
        void performing.perform(act).then((result) => {
          finish(act, result);
          world.park(outside, next);
        });
      };
      const whenReady = () => {
        if (!isReady(act)) return;
        idle.delete(whenReady);
        if (act.waitMs === 0) world.park(outside, begin);
        else world.after(act.waitMs, outsideQueue, begin);
      };
      idle.add(whenReady);
      whenReady();
    };
    world.park(outside, next);
  }
  return { areDone: () => running === 0, open: performing.open };
}

function refsOf(act: Act): number[] {
  const named = [
    'token' in act ? act.token : undefined,
    'parent' in act ? act.parent : undefined,
    'approval' in act ? act.approval : undefined,
    'asked' in act ? act.asked : undefined,
    'quote' in act ? act.quote : undefined,
    'of' in act ? act.of : undefined,
  ];
  return named.filter((place) => place !== undefined);
}

/** In milliseconds, and how often: a client asks again while no replica is there. */
const AGAIN_MS = 500;
const TRIES_MAX = 60;

/**
 * How often a client asks for one token, and the failures after which it asks again: for longer than a replica waits
 * for the mark.
 */
const ISSUES_MAX = 10;
const PASSING: ReadonlySet<string> = new Set(['service_unavailable', 'outcome_unknown']);

/** Places of repeated questions; more than an act sends at the same time. */
const TURNS = 8;

/** How often a client asks again when another call runs under its exclusive token. */
const BUSY_MAX = 2;

/** In milliseconds: a revocation meets a call at any of its waits, also when the call is slow. */
const CUT_MS = 4_000;

/** Delegations are few and short. */
const CUT_DELEGATIONS = 6;

/** In milliseconds: no client waits longer for an answer. */
const PATIENCE_MS = 90_000;

function createPerformer(stage: Stage, made: ReadonlyMap<number, Made>) {
  const { world, faults, outside, emit } = stage;
  let ids = 0;
  let open = 0;

  /** Resolves with the body of the answer; with `undefined` when the client gets none. */
  function ask(question: Question, replica: Replica, place: string): Promise<Body> {
    const runtime = replica.runtime();
    const method = runtime?.methods[question.operation];
    if (!runtime || !method) return Promise.resolve(undefined);
    const drawn = faults.at(`client ${place}`);
    const isLost = drawn.is(faults.rate('lost'));
    const isTwice = drawn.is(faults.rate('duplicate'));
    if (isLost) faults.hit('lost');
    if (isTwice) faults.hit('duplicate');
    const send = (lost: boolean): Promise<Body> => {
      ids += 1;
      const event = { ...eventOf(question), id: ids, replica: replica.id };
      emit({ kind: 'ask', ...event });
      open += 1;
      return new Promise((resolve) => {
        let isPatient = true;
        const late = world.after(PATIENCE_MS, world.queue(outside), () => {
          isPatient = false;
          resolve(undefined);
        });
        /** The service has answered, or its process has died. */
        const end = (answer?: object, failure?: Failure) => {
          forget();
          late.cancel();
          open -= 1;
          const isGone = lost || !isPatient || answer === undefined;
          emit({ kind: 'answer', ...event, answer, failure, lost: isGone });
          world.park(outside, () => resolve(isGone ? undefined : answer));
        };
        const forget = replica.atDeath(() => end());
        world.park(replica.owner(), () => {
          void perform(question.operation, method, asking(question), runtime).then((answer) => {
            end(
              isDocument(answer) ? {} : answer.body,
              isDocument(answer) ? undefined : answer.failure,
            );
          });
        });
      });
    };
    if (isTwice) void send(true);
    return send(isLost);
  }

  /** The wanted replica, or another one that is there; waits for one while all are down. */
  async function atReplica(act: Act): Promise<Replica | undefined> {
    const { replicas } = stage;
    for (let tries = 0; tries < TRIES_MAX; tries++) {
      const there = replicas.filter((each) => each.runtime());
      const wanted = replicas[act.replica % replicas.length];
      if (wanted?.runtime()) return wanted;
      if (there.length > 0) return there[act.place % there.length];
      await pause(AGAIN_MS);
    }
    return undefined;
  }

  const pause = (ms: number) =>
    new Promise<void>((go) => void world.after(ms, world.queue(outside), go));

  const tokenOf = (place: number) => made.get(place)?.token;

  async function asked(act: Act, question: Question | undefined, nth = 0): Promise<Body> {
    const replica = await atReplica(act);
    if (!question || !replica) return undefined;
    return ask(question, replica, `${act.place} ${nth}`);
  }

  /** Asks again when the call that runs under the exclusive token ends or loses its lease. */
  async function askedInTurn(act: Act, question: Question, nth: number): Promise<Body> {
    for (let tries = 0; ; tries++) {
      const body = await asked(act, question, nth + tries * TURNS);
      const { type, estimated_availability: then } = body?.failure ?? {};
      if (type !== 'concurrent_branch_busy' || tries === BUSY_MAX) return body;
      const ms = then === undefined ? 0 : Date.parse(then) - world.now();
      await pause(Math.max(AGAIN_MS, ms));
    }
  }

  /** Revokes the token while the act runs, now and then. */
  function cut(act: Act, token: Made['token'], factor = 1): void {
    const drawn = faults.at(`cut ${act.place}`);
    const [isCut, isSoon, ms] = [
      drawn.is(faults.rate('cut') * factor),
      drawn.is(0.6),
      drawn.below(CUT_MS),
    ];
    if (!token || !isCut) return;
    faults.hit('cut');
    const revoke = () => asked({ ...act, replica: act.replica + 1 }, revocationOf(token), -1);
    void (isSoon ? revoke() : pause(ms).then(revoke));
  }

  /** Sends a call as often as its act says, to several replicas. */
  async function call(act: Act, sent: Sent | undefined, times: number): Promise<Made> {
    if (!sent) return {};
    const { token, input } = sent;
    const question: Question = {
      operation: 'invoke',
      client: 'agent',
      bearer: token.jwt,
      token: token.id,
      input,
    };
    const sends = Array.from({ length: times }, (_, nth) =>
      askedInTurn({ ...act, replica: act.replica + nth }, question, nth),
    );
    cut(act, token);
    const bodies = await Promise.all(sends);
    const best = bodies.find((body) => body?.success) ?? bodies.find((body) => body);
    return {
      sent,
      asked: best?.failure?.approval_request_id,
      quote: best?.result?.quote,
    };
  }

  /** Asks again where no token came, because many acts need one. */
  async function issue(act: Act, question: Question): Promise<Made> {
    for (let tries = 0; tries < ISSUES_MAX; tries++) {
      const body = await asked(act, question, tries);
      if (body?.token) return { token: { id: body.token_id, jwt: body.token } };
      if (body && !PASSING.has(body.failure?.type)) return {};
      await pause(AGAIN_MS);
    }
    return {};
  }

  async function decide(act: Act & { kind: 'approve' | 'deny' }): Promise<Made> {
    const { asked: id, sent } = made.get(act.asked) ?? {};
    if (id === undefined) return {};
    const by = { client: act.who, bearer: keyOf(act.who) };
    if (act.kind === 'deny') {
      const input = { approval_request_id: id, reason: 'not now' };
      await asked(act, { operation: 'approval_requests.deny', ...by, input });
      return {};
    }
    const bound = { grant_type: 'session_bound', session_id: 'session-1', max_uses: act.uses };
    const terms = act.uses > 1 ? bound : { grant_type: 'one_time' };
    const input = { approval_request_id: id, expires_in_seconds: act.seconds, ...terms };
    const body = await asked(act, { operation: 'approval_grants.issue', ...by, input });
    return { sent, grant: body?.grant_id };
  }

  async function reconcile(act: Act & { kind: 'reconcile' }): Promise<Made> {
    const by = { client: 'operator', bearer: keyOf('operator') };
    const list = await asked(act, { operation: 'operator.indeterminate', ...by, input: {} });
    const found = list?.indeterminate?.[act.nth];
    if (!found) return {};
    const input = {
      invocation_id: found.invocation_id,
      outcome: act.outcome,
      reason: 'looked it up',
    };
    await asked(act, { operation: 'operator.reconcile', ...by, input }, 1);
    return {};
  }

  async function performed(act: Act): Promise<Made> {
    const { replicas } = stage;
    const replica = replicas[act.replica % replicas.length];
    switch (act.kind) {
      case 'issue': {
        const by = { client: act.root, bearer: keyOf(act.root) };
        const input = termsInput(act);
        return issue(act, { operation: 'tokens.issue', ...by, input });
      }
      case 'delegate': {
        const parent = tokenOf(act.parent);
        if (!parent) return {};
        const input = { ...termsInput(act), parent_token: parent.id };
        const by = { client: 'agent', bearer: parent.jwt, token: parent.id };
        cut(act, parent, CUT_DELEGATIONS);
        return issue(act, { operation: 'tokens.issue', ...by, input });
      }
      case 'invoke':
        return call(act, sentBy(act, made), act.times);
      case 'use':
        return call(act, usedBy(act, made), act.times);
      case 'retry':
        return call(act, made.get(act.of)?.sent, 1);
      case 'approve':
      case 'deny':
        return decide(act);
      case 'reconcile':
        return reconcile(act);
      case 'crash':
        faults.hit('crash');
        replica?.crash(act.ms);
        return {};
      case 'pause':
        faults.hit('pause');
        replica?.pause(act.ms);
        return {};
      case 'clock':
        faults.hit('clock');
        replica?.stepClock(act.ms);
        return {};
      case 'store-clock':
        stage.stepStoreClock(act.ms);
        return {};
      case 'disk-full':
        stage.fillDisk(act.ms);
        return {};
      default:
        await asked(act, plainQuestion(act, tokenOf, world.now()));
        return {};
    }
  }

  return { perform: performed, open: () => open };
}
