/**
 * What `createClient()` takes and returns.
 *
 * @module
 */

import type { OperationName } from '../protocol/operations.ts';
import type { Manifest } from '../protocol/trust.ts';
import type { ClientEvent } from './events.ts';
import type { Pause } from './pace.ts';
import type { Reply } from './reply.ts';
import type {
  AnswerIn,
  AnyCapabilities,
  AskedIn,
  Call,
  Invoked,
  NameIn,
  ResultIn,
} from './typed.ts';

/**
 * How a client reaches its service, which keys it trusts, and how often it repeats a call.
 *
 * @example
 * import { createService, mount } from 'writ';
 * import { type ClientOptions, createClient } from 'writ/client';
 *
 * const service = createService({ id: 'demo', capabilities: [] });
 * const desk = await mount(service, { prefix: '/desk', settings: { store: 'memory:' } });
 * const options: ClientOptions = {
 *   url: 'http://127.0.0.1/desk',
 *   fetch: (input, init) => desk.fetch(new Request(input, init)),
 * };
 * console.log((await createClient(options).manifest()).ok);
 * await desk.close();
 */
export interface ClientOptions {
  /** The address of the service. */
  readonly url: string;
  /** A delegation token, or a bootstrap credential for the operations that take one. */
  readonly credential?: string | undefined;
  /** Thumbprints (`kid`) of the service's keys, from another source than the service. */
  readonly pins?: readonly string[] | undefined;
  /**
   * Sends the credential for the manifest too, for a service that requires one there.
   * Without this option, a known service (by pins, by its id or from the first contact) gets the
   * credential only after its manifest was verified.
   */
  readonly gatedManifest?: boolean | undefined;
  /** The id of the expected service; without it, the service of the first answer. */
  readonly serviceId?: string | undefined;
  /** Milliseconds for one answer. */
  readonly timeoutMs?: number | undefined;
  /** Milliseconds without data after which a stream counts as lost. */
  readonly silenceMs?: number | undefined;
  /** How often a call is repeated where that is safe. */
  readonly retries?: number | undefined;
  readonly fetch?: typeof fetch | undefined;
  readonly now?: (() => Date) | undefined;
  readonly pause?: Pause | undefined;
}

/**
 * The bounds of one call. They replace those of the client.
 *
 * @example
 * import { type AskOptions, createClient } from 'writ/client';
 *
 * const client = createClient({ url: 'http://127.0.0.1:8420' });
 * const hurried: AskOptions = { timeoutMs: 500, retries: 0, signal: AbortSignal.abort('shutdown') };
 * await client.ask('discovery', {}, hurried).catch((reason) => console.log(reason));
 */
export interface AskOptions {
  readonly timeoutMs?: number | undefined;
  /** How often this call is repeated where that is safe. */
  readonly retries?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/**
 * A client. `Source` is the type of its service, or an interface of its capabilities.
 *
 * @example
 * import { type Client, createClient } from 'writ/client';
 *
 * interface Shop {
 *   look_up: { parameters: { order_id: string }; result: { state: string } };
 * }
 * const stateOf = async (shop: Client<Shop>, order_id: string) => {
 *   const reply = await shop.invoke({ capability: 'look_up', parameters: { order_id } });
 *   return reply.ok ? reply.answer.result.state : reply.failure.detail;
 * };
 * const shop: Client<Shop> = createClient<Shop>({ url: 'https://shop.example' });
 */
export interface Client<Source = AnyCapabilities> {
  readonly url: string;
  /**
   * Calls an operation by name. Throws `UntrustedService` before it sends a credential to a service that is
   * not the known one.
   */
  ask<Operation extends OperationName>(
    name: Operation,
    input: AskedIn<Source, Operation>,
    options?: AskOptions,
  ): Promise<Reply<AnswerIn<Source, Operation>>>;
  /**
   * Invokes a capability. A call that has an effect gets an idempotency key unless one is given;
   * `null` sends none. Throws `UntrustedService` when the manifest does not verify.
   */
  invoke<Name extends NameIn<Source>>(
    input: Call<Source, Name>,
    options?: AskOptions,
  ): Promise<Reply<Invoked<ResultIn<Source, Name>>>>;
  /** Invokes a capability as a stream. Leaving the loop closes the connection; the handler continues. */
  stream<Name extends NameIn<Source>>(
    input: Call<Source, Name>,
    options?: AskOptions,
  ): AsyncGenerator<ClientEvent<ResultIn<Source, Name>>>;
  /** The manifest, verified. Throws `UntrustedService`. */
  manifest(options?: AskOptions): Promise<Reply<Manifest>>;
  /** The trusted thumbprints, to store for the next client. */
  pins(): readonly string[];
  /** The same service and trust with another credential. */
  withCredential(credential: string): Client<Source>;
  readonly now: () => Date;
  readonly pause: Pause;
}
