/**
 * Callers and people by name: each has a client of its own with a real token or credential.
 *
 * @module
 */

import type { Client, Refused, Reply } from '../client/index.ts';
import type { InputOf } from '../protocol/operations.ts';
import type { PasskeyProof } from '../protocol/passkey.ts';
import type { JsonObject } from '../protocol/primitives.ts';
import type { IssueAnswer } from '../protocol/token.ts';
import type { CapabilityMap } from '../protocol/typed.ts';
import type { ServiceDefinition } from '../service/author/definition.ts';
import type { Runtime } from '../service/runtime.ts';
import { deviceOf, type SignApproval } from './device.ts';
import { expectAnswer } from './expect.ts';
import type { CallerOptions, TestCaller, TestedService } from './types.ts';

interface Desk {
  readonly client: Client;
  readonly runtime: Runtime;
  readonly secret: string;
}

export function peopleOf<Types extends CapabilityMap>(
  { catalog }: ServiceDefinition,
  { client, runtime, secret }: Desk,
): Pick<TestedService<Types>, 'caller' | 'human'> {
  const scopes = [...catalog.capabilities.values()].flatMap((each) => each.minimum_scope);
  const every = [...new Set(scopes)];
  const signedIn = (principal: string) =>
    client.withCredential(`${secret}.${Buffer.from(principal).toString('base64url')}`);
  const devices = new Map<string, SignApproval>();
  const deviceFor = (principal: string) => {
    const device = devices.get(principal) ?? deviceOf(runtime, principal);
    devices.set(principal, device);
    return device;
  };
  return {
    async caller(name, options = {}) {
      const subject = principalOf('agent', name);
      const root = principalOf('human', options.root ?? 'owner');
      const asked = issueRequest(subject, { scopes: every, ...options });
      return callerWith(
        subject,
        expectAnswer(await signedIn(root).ask('tokens.issue', asked)),
        client,
      );
    },
    human(name) {
      const principal = principalOf('human', name);
      const own = signedIn(principal);
      return {
        principal,
        client: own,
        approve(request, { passkey, ...terms } = {}) {
          const approval_request_id = requestId(request);
          const approval = { grant_type: 'one_time' as const, ...terms, approval_request_id };
          const send = (proof?: PasskeyProof) =>
            own.ask('approval_grants.issue', { ...approval, passkey: proof });
          return passkey ? deviceFor(principal)(approval).then(send) : send();
        },
        deny: (request, reason = 'denied by a test') =>
          own.ask('approval_requests.deny', { approval_request_id: requestId(request), reason }),
      };
    },
  };
}

/** A name may be a whole principal, such as `service:billing`. */
function principalOf(kind: string, name: string): string {
  return name.includes(':') ? name : `${kind}:${name}`;
}

function issueRequest(subject: string, options: CallerOptions): InputOf<'tokens.issue'> {
  const { scopes = [], purpose, root: _, ...rest } = options;
  return { ...rest, subject, scope: [...scopes], purpose_parameters: purpose };
}

function callerWith<Types extends CapabilityMap>(
  principal: string,
  token: IssueAnswer,
  client: Client,
): TestCaller<Types> {
  const own = client.withCredential(token.token);
  const caller: TestCaller = {
    principal,
    token,
    client: own,
    async invoke(capability, parameters = {}, more = {}) {
      return own.invoke({ ...more, capability, parameters: parameters as JsonObject });
    },
    async delegate(name, options = {}) {
      const subject = principalOf('agent', name);
      const asked = issueRequest(subject, { scopes: token.scope, ...options });
      const parent = { ...asked, parent_token: token.token_id };
      return callerWith(subject, expectAnswer(await own.ask('tokens.issue', parent)), client);
    },
  };
  // Safe: the types say what the handlers of this service take and return.
  return caller as TestCaller<Types>;
}

function requestId(request: string | Reply<unknown>): string {
  if (typeof request === 'string') return request;
  const id = (request as Refused).failure?.approval_request_id;
  if (id !== undefined) return id;
  throw new Error('Cannot decide the approval request: the reply names none');
}
