/**
 * Weaknesses of the HTTP surface as data: each takes one rule away from a real service.
 *
 * @module
 */

import { OPERATOR } from '../support/world.ts';
import {
  answerWith,
  bearerOf,
  headerOf,
  jsonOf,
  type Weakness,
  withBearer,
  withJson,
} from './weak-proxy.ts';

export const SURFACE_WEAKNESSES: readonly Weakness[] = [
  {
    name: 'a token in the address is accepted',
    breaks: ['surface.credential-elsewhere'],
    beside: ['surface.no-credential', 'surface.other-schemes'],
    request: (passed) => {
      const token = new URLSearchParams(passed.path.split('?')[1] ?? '').get('access_token');
      return token === null
        ? passed
        : withBearer({ ...passed, path: passed.path.split('?')[0] ?? '' }, token);
    },
  },
  {
    name: 'the first of two credentials counts',
    breaks: ['surface.two-credentials'],
    beside: ['surface.credential-elsewhere', 'surface.other-schemes'],
    request: (passed) => {
      const lines = passed.headers.filter((each) => each.toLowerCase() === 'authorization');
      return lines.length > 1 ? withBearer(passed, bearerOf(passed)) : passed;
    },
  },
  {
    name: 'an operation needs no credential',
    breaks: ['surface.no-credential', 'log.stranger'],
    beside: ['surface.credential-elsewhere'],
    request: (passed) => {
      const isOpen =
        passed.path === '/svc/audit' && passed.method === 'POST' && bearerOf(passed) === '';
      return isOpen ? withBearer(passed, OPERATOR) : passed;
    },
  },
  {
    name: 'long ids are cut',
    breaks: ['surface.long-ids'],
    beside: ['surface.wrong-types'],
    request: (passed) => {
      const json = jsonOf(passed.body);
      if (typeof json.client_reference_id !== 'string') return passed;
      return withJson(passed, {
        ...json,
        client_reference_id: json.client_reference_id.slice(0, 256),
      });
    },
  },
  {
    name: 'every origin may send credentials',
    breaks: ['surface.other-origin'],
    beside: ['surface.host-header'],
    answer: (answered, { headers }) => {
      const origin = headers[headers.findIndex((name) => name.toLowerCase() === 'origin') + 1];
      const open = {
        'access-control-allow-origin': origin,
        'access-control-allow-credentials': 'true',
      };
      return { ...answered, headers: { ...answered.headers, ...open } };
    },
  },
  {
    name: 'an unknown capability is a defect with a stack trace',
    breaks: ['surface.failure-form', 'surface.defects', 'surface.insides'],
    beside: ['surface.echoed-secrets', 'surface.inherited-names'],
    request: (passed) =>
      passed.path === '/svc/invoke/writ-attack'
        ? answerWith(500, {
            error:
              'TypeError: x is undefined\n    at run (/usr/app/node_modules/service/run.js:10:3)',
          })
        : passed,
  },
  {
    name: 'a refusal repeats the credential',
    breaks: ['surface.echoed-secrets'],
    beside: ['surface.failure-form', 'surface.defects', 'surface.insides'],
    answer: (answered, passed) =>
      answered.status < 400
        ? answered
        : withJson(answered, { ...jsonOf(answered.body), bearer: bearerOf(passed) }),
  },
  {
    name: 'strangers lock callers out',
    breaks: ['surface.bad-token-flood'],
    beside: ['surface.slow-clients'],
    request: (passed, { kept }) => {
      const bad = Number(kept.get('bad') ?? 0) + (bearerOf(passed).endsWith('AAAAAAAA') ? 1 : 0);
      kept.set('bad', bad);
      return bad > 60 && bad < 115 ? answerWith(403, { success: false }) : passed;
    },
  },
  {
    name: 'a body ends in two places',
    lenientParser: true,
    breaks: ['surface.smuggling'],
    beside: ['surface.no-credential'],
  },
  {
    name: 'a large body ends the service',
    breaks: ['surface.deep-bodies', 'surface.wide-bodies', 'surface.huge-bodies'],
    isEachAlone: true,
    request: (passed, { stop }) => {
      if (passed.body.length > 50_000) stop();
      return passed;
    },
  },
  {
    name: 'a path in another spelling needs no credential',
    breaks: ['surface.disguised-paths'],
    beside: ['surface.no-credential'],
    request: (passed, { tokens }) =>
      passed.path === '/SVC/PERMISSIONS'
        ? withBearer({ ...passed, path: '/svc/permissions' }, [...tokens.values()].at(-1) ?? '')
        : passed,
  },
  {
    name: 'every scheme is read as Bearer',
    breaks: ['surface.other-schemes'],
    beside: ['surface.no-credential'],
    request: (passed) => {
      const value = headerOf(passed, 'authorization');
      return value?.startsWith('JWT ') ? withBearer(passed, value.slice(4)) : passed;
    },
  },
  {
    name: 'a header overrides the method',
    breaks: ['surface.method-override'],
    beside: ['surface.no-credential'],
    request: (passed) =>
      headerOf(passed, 'x-http-method-override') ? { ...passed, method: 'POST' } : passed,
  },
  {
    name: 'ids are copied into headers',
    breaks: ['surface.line-breaks'],
    beside: ['surface.foreign-text'],
    answer: (answered, { body }) => {
      const isPlanted = body.includes('X-Writ-Attack');
      const headers = { ...answered.headers, ...(isPlanted && { 'x-writ-attack': '1' }) };
      return { ...answered, headers };
    },
  },
  {
    name: 'inherited names are capabilities',
    breaks: ['surface.inherited-names'],
    beside: ['surface.wrong-types'],
    request: (passed) =>
      passed.path === '/svc/invoke/constructor' ? answerWith(200, { success: true }) : passed,
  },
  {
    name: 'one request changes the answers to others',
    breaks: ['surface.inherited-parameters'],
    beside: ['surface.foreign-text'],
    request: (passed, { kept }) => {
      if (passed.body.includes('polluted')) kept.set('polluted', true);
      return passed;
    },
    answer: (answered, { path }, { kept }) =>
      kept.get('polluted') && path.startsWith('/svc/invoke/')
        ? withJson(answered, { ...jsonOf(answered.body), polluted: true })
        : answered,
  },
  {
    name: 'wrong types are left out',
    breaks: ['surface.wrong-types'],
    beside: ['surface.long-ids'],
    request: (passed) => {
      if (!passed.path.startsWith('/svc/invoke/')) return passed;
      const { client_reference_id: id, ...rest } = jsonOf(passed.body);
      return typeof id === 'object' ? withJson(passed, rest) : passed;
    },
  },
  {
    name: 'a missing page repeats its path as HTML',
    breaks: ['surface.foreign-text'],
    beside: ['surface.host-header'],
    answer: (answered, { path }) => {
      if (answered.status !== 404) return answered;
      const body = Buffer.from(`<p>${decodeURIComponent(path)} is missing</p>`);
      return { status: 404, headers: { 'content-type': 'text/html' }, body };
    },
  },
  {
    name: 'documents name the host of the request',
    breaks: ['surface.host-header'],
    beside: ['surface.foreign-text'],
    answer: (answered, passed) =>
      passed.path === '/.well-known/svc'
        ? withJson(answered, { ...jsonOf(answered.body), at: headerOf(passed, 'host') })
        : answered,
  },
  {
    name: 'a strange bearer is accepted',
    breaks: ['surface.long-heads'],
    beside: ['surface.other-schemes'],
    request: (passed) => (bearerOf(passed).startsWith('a.a.') ? answerWith(200, {}) : passed),
  },
  {
    name: 'open connections hold all places',
    breaks: ['surface.slow-clients', 'surface.unread-answers'],
    beside: ['surface.long-heads'],
    request: (passed, { connections }) =>
      connections() > 11 && passed.path === '/svc/permissions' ? answerWith(503, {}) : passed,
  },
];
