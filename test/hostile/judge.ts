/**
 * Whether an answer is one that the service may give to any request at all, however hostile.
 *
 * @module
 */

import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import type { ApiOperation } from '../../src/openapi/openapi.ts';
import type { Schema } from '../../src/openapi/schemas.ts';
import { FailureAnswer } from '../../src/protocol/failure.ts';
import { StreamEvent } from '../../src/protocol/invocation.ts';
import type { HostileRequest } from './requests.ts';
import { DOCUMENT } from './targets.ts';
import { CANARY_HEADER } from './values.ts';
import type { Answered } from './wire.ts';

/** The first reason why the answer may not be given; undefined where it may. */
export type Judge = (request: HostileRequest, answered: Answered) => string | undefined;

export function createJudge(): Judge {
  const faultIn = createShapes();
  return (request, answered) => {
    const { status, headers, body } = answered;
    const text = body.toString('utf8');
    const fault = leakIn(request, answered, text);
    if (fault !== undefined || body.length === 0) return fault;
    const type = headers.get('content-type')?.[0] ?? '';
    if (type.startsWith('text/event-stream')) return streamFault(request, text);
    if (!type.startsWith('application/json')) return undefined;
    const value = parsed(text);
    return value === undefined ? 'a body that is no JSON' : faultIn(request, status, value);
  };
}

/** What no answer of any form may have. */
function leakIn(request: HostileRequest, answered: Answered, text: string): string | undefined {
  const { bearer, sent } = request;
  const { status, headers } = answered;
  if (status >= 500) return `status ${status}`;
  if (headers.has(CANARY_HEADER)) return 'a header that the request made';
  if (/<canary/i.test(text) && /html/.test(headers.get('content-type')?.[0] ?? '')) {
    return 'markup that the request made';
  }
  if (/node_modules|\.ts:\d+:|SQLITE_|at Object\./.test(text)) return 'the inside of the service';
  const isSecret = bearer !== undefined && bearer.length > 12 && !sent.body?.includes(bearer);
  const isRepeated = isSecret && text.includes(bearer);
  return isRepeated ? 'the credential of the caller' : undefined;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Paths whose refusals have the form of another standard. */
const OTHER_FORMS = /^(?:mcp |POST \/(?:token|revoke|register|sign-in\/logout)$)/;

function createShapes(): (
  request: HostileRequest,
  status: number,
  value: unknown,
) => string | undefined {
  const ajv = new Ajv2020({ strict: false });
  addFormats.default(ajv);
  ajv.addSchema({ $id: 'api', components: DOCUMENT.components } as object);
  const made = new Map<string, ValidateFunction | undefined>();
  const validateOf = (operation: ApiOperation, status: number) => {
    const { responses } = operation;
    const key = responses[status] ? String(status) : `${String(status)[0]}XX`;
    const id = `${operation.operationId} ${key}`;
    if (!made.has(id)) {
      const schema = responses[key]?.content?.['application/json']?.schema;
      made.set(id, schema && ajv.compile(absolute(schema)));
    }
    return made.get(id);
  };
  return ({ target: { name, operation, method }, sent }, status, value) => {
    if (status >= 400 && !OTHER_FORMS.test(name)) {
      const { success, error } = FailureAnswer.safeParse(value);
      if (!success) return `a failure of another form: ${error.message.slice(0, 200)}`;
    }
    // A twisted address may be that of another path.
    if (!operation || status >= 400 || sent.method !== method) return undefined;
    const validate = validateOf(operation, status);
    if (!validate) return `status ${status}, which the description does not have`;
    if (validate(value) || isOtherPath(sent.target)) return undefined;
    const [error] = validate.errors ?? [];
    return `another shape: ${error?.instancePath} ${error?.message}`;
  };
}

function isOtherPath(target: string): boolean {
  return /^\/(?:[?#]|$)/.test(target) || /\/(?:[?#]|$)/.test(target);
}

function absolute(schema: Schema): object {
  return JSON.parse(JSON.stringify(schema).replaceAll('"#/components', '"api#/components'));
}

/** A stream of ours, event by event: names of ours, one line of JSON each, one end. */
function streamFault({ target: { name } }: HostileRequest, text: string): string | undefined {
  const blocks = text.split('\n\n').filter((block) => block !== '' && !block.startsWith(':'));
  if (name.startsWith('mcp ')) {
    const isOdd = (block: string) =>
      block
        .split('\n')
        .some((line) => !/^(?:event: message|data: [^\r\n]*|id: [^\r\n]*|retry: \d+|)$/.test(line));
    return blocks.some(isOdd) ? 'an event that is no message' : undefined;
  }
  const ends = blocks.filter((block) => /^event: (?:completed|failed)\n/.test(block));
  if (ends.length !== 1 || ends[0] !== blocks.at(-1)) return 'a stream without exactly one end';
  for (const block of blocks) {
    const [, event, json = ''] = /^event: (\w+)\ndata: ([^\n\r]*)$/.exec(block) ?? [];
    if (!StreamEvent.safeParse({ event, data: parsed(json) }).success) {
      return `an event of another form: ${block.slice(0, 200)}`;
    }
  }
  return undefined;
}
