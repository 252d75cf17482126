/**
 * What the sign-in pages are asked to show: usual content, and content that a hostile client would choose.
 *
 * @module
 */

import type { ConsentOption } from '../../src/domain/sign-in/consent.ts';

import { agentsPage, endAgentPage, stopAllPage } from '../../src/http/sign-in/agents-page.ts';
import { type ConsentPageView, consentPage } from '../../src/http/sign-in/consent-page.ts';
import type { Frame } from '../../src/http/sign-in/frame.ts';
import { messagePage } from '../../src/http/sign-in/message-page.ts';
import { signInPage } from '../../src/http/sign-in/sign-in-page.ts';
import type { AgentView } from '../../src/service/sign-in/agents.ts';

const NOW = new Date('2026-11-16T14:40:00.000Z');

export const FRAME: Frame = {
  service: 'Travel Desk',
  basePath: '',
  person: 'ann@example.com',
  csrf: 'token-of-the-page',
};

const READS = { kind: 'reads', words: 'Reads' } as const;
const FINAL = { kind: 'final', words: 'Cannot be undone' } as const;

function option(name: string, title: string, more: Partial<ConsentOption>): ConsentOption {
  return {
    name,
    title,
    description: '',
    scope: [`travel.${name.split('_')[0]}`],
    effect: READS,
    cost: 'free',
    isChosen: more.effect === undefined,
    isAsked: true,
    ...more,
  };
}

const OPTIONS: readonly ConsentOption[] = [
  option('search_flights', 'Search flights', { description: 'Finds flights between two airports' }),
  option('get_booking', 'Look up a booking', { description: 'Shows names of travelers' }),
  option('hold_seat', 'Hold a seat', {
    effect: { kind: 'undo', words: 'Can be undone for 24 h' },
    cost: '15.00 USD each',
    currency: 'USD',
  }),
  option('buy_lounge_pass', 'Buy a lounge pass', {
    effect: { kind: 'changes', words: 'Changes something' },
    cost: '25.00 USD each',
    currency: 'USD',
  }),
  option('book_flight', 'Book a flight', {
    effect: FINAL,
    cost: '200.00 to 600.00 USD each',
    currency: 'USD',
  }),
  option('charter_jet', 'Charter a jet', {
    effect: FINAL,
    cost: 'up to 20,000.00 USD each',
    currency: 'USD',
    approval: 'A person approves each one',
    alone: 'Choose it alone',
  }),
  option('erase_traveler', 'Erase a traveler', {
    effect: FINAL,
    blocked: 'Only you yourself may do this.',
  }),
  option('list_refunds', 'List refunds', { isAsked: false, isChosen: false }),
];

export const CONSENT: ConsentPageView = {
  client: {
    name: 'Claude Code',
    id: 'https://agents.example/claude-code.json',
    isVerified: false,
    answersTo: { isLoopback: true, host: '127.0.0.1:53187' },
  },
  before: 'On 3 Oct 2026 you let it search flights, with no money, for 7 days.',
  options: OPTIONS,
  neverGiven: ['operator:*'],
  currencies: ['USD'],
  chosenCurrency: 'USD',
  limit: '0.00',
  suggestedLimit: '300.00 USD',
  untils: [
    { value: '3h', label: 'Today, 18:00 UTC (3 h)', isSelected: false },
    { value: '4d', label: 'Fri 20 Nov, 18:00 UTC (4 days)', isSelected: true },
  ],
  askedUntil: '30 days',
  purpose: 'March offsite',
  passOn: [
    { value: '0', label: 'No', isSelected: true },
    { value: '1', label: 'Yes, to its sub-agents', isSelected: false },
  ],
  hidden: { request: 'sealed-request' },
};

export const AGENT: AgentView = {
  id: 'con_1',
  tokenId: 'tok_1',
  name: 'Claude Code',
  subject: 'agent:claude-code/7f3a',
  clientId: 'https://agents.example/claude-code.json',
  answersTo: 'this computer',
  userAgent: 'Firefox on Linux',
  purpose: 'March offsite',
  since: new Date('2026-11-16T12:10:00.000Z'),
  until: new Date('2026-11-20T18:00:00.000Z'),
  budget: { currency: 'USD', max: 1_600, spent: 325, reserved: 215, left: 1_060 },
};

const READER: AgentView = {
  ...AGENT,
  id: 'con_2',
  name: 'Cursor',
  subject: 'agent:cursor/11aa',
  answersTo: 'the app cursor:',
  purpose: undefined,
  budget: { currency: 'USD', max: 0, spent: 0, reserved: 0, left: 0 },
  until: new Date('2026-11-16T14:49:00.000Z'),
};

const SESSIONS = [
  { id: 'ses_1', userAgent: 'Firefox on Linux', since: AGENT.since, isThis: true },
  { id: 'ses_2', userAgent: 'Safari on iPhone', since: AGENT.since, isThis: false },
];

const STRANGER: Frame = { ...FRAME, person: undefined };

/** Every page as people usually see it. */
export const USUAL: Readonly<Record<string, string>> = {
  'sign-in': signInPage(STRANGER, {
    providers: [
      { id: 'acme', label: 'Acme' },
      { id: 'other', label: 'Other' },
    ],
    takesKey: true,
    host: 'desk.example.com',
    returnTo: '/agents',
    problem: 'Cannot sign in: there is no person with this key.',
  }),
  consent: consentPage(FRAME, CONSENT),
  'consent again': consentPage(FRAME, {
    ...CONSENT,
    client: {
      ...CONSENT.client,
      isVerified: true,
      answersTo: { isLoopback: false, host: 'cursor:' },
    },
    currencies: ['EUR', 'USD'],
    options: OPTIONS.map((each) => ({ ...each, isAsked: false, isChosen: true })),
    problem: 'Set a limit above 0: what you ticked costs money.',
  }),
  agents: agentsPage(FRAME, {
    now: NOW,
    agents: [AGENT, READER],
    sessions: SESSIONS,
  }),
  'no agents': agentsPage(FRAME, { now: NOW, agents: [], sessions: [] }),
  end: endAgentPage(FRAME, AGENT),
  'end one': endAgentPage(FRAME, READER),
  stop: stopAllPage(FRAME, [AGENT, READER]),
  message: messagePage(FRAME, {
    title: 'Cannot go on',
    text: 'The client named an address for the answer that it did not register. Start again from the program.',
    link: { path: '/agents', label: 'My agents' },
    proof: { status: 400, reference: '0123456789abcdef' },
  }),
};

/** Every page with one text in each place where a client, an agent or a browser can put one. */
export function hostilePages(evil: string): Readonly<Record<string, string>> {
  const agent: AgentView = {
    ...AGENT,
    id: evil,
    tokenId: evil,
    name: evil,
    subject: evil,
    clientId: evil,
    answersTo: evil,
    userAgent: evil,
    purpose: evil,
    budget: { currency: evil, max: 10, spent: 20, reserved: 5, left: -15 },
  };
  const frame: Frame = { service: evil, basePath: '', person: evil, csrf: evil };
  return {
    'sign-in': signInPage(frame, {
      providers: [{ id: evil, label: evil }],
      takesKey: true,
      host: evil,
      returnTo: evil,
      problem: evil,
    }),
    consent: consentPage(frame, {
      ...CONSENT,
      client: {
        name: evil,
        id: evil,
        isVerified: false,
        answersTo: { isLoopback: false, host: evil },
      },
      before: evil,
      options: OPTIONS.map((each) => ({
        ...each,
        name: evil,
        title: evil,
        description: evil,
        scope: [evil],
        effect: { kind: 'final', words: evil },
        cost: evil,
        approval: evil,
        blocked: each.blocked && evil,
      })),
      neverGiven: [evil],
      currencies: [evil, 'USD'],
      limit: evil,
      suggestedLimit: evil,
      untils: [{ value: evil, label: evil, isSelected: true }],
      askedUntil: evil,
      purpose: evil,
      passOn: [{ value: evil, label: evil, isSelected: true }],
      problem: evil,
      hidden: { [evil]: evil },
    }),
    agents: agentsPage(frame, {
      now: NOW,
      agents: [agent],
      sessions: [{ id: evil, userAgent: evil, since: NOW, isThis: false }],
    }),
    end: endAgentPage(frame, agent),
    stop: stopAllPage(frame, [agent]),
    message: messagePage(frame, {
      title: evil,
      text: evil,
      link: { path: '/agents', label: evil },
      proof: { status: 400, reference: evil },
    }),
  };
}
