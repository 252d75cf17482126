/**
 * Notifications in Slack and by email: what a card says, what it never says, and that no text of a caller becomes a
 * link, a mention or a format.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { serve } from '../../src/http/serve.ts';
import { createLog } from '../../src/log.ts';
import { defineCapability } from '../../src/service/author/define.ts';
import { createService } from '../../src/service/author/definition.ts';
import { closedAtEnd, temporaryFolder } from '../support/ends.ts';
import { eventually, STORES } from '../support/world.ts';
import {
  ALICE,
  CAROL,
  createWorld,
  type Desk,
  OPERATOR,
  POLICY,
  SETTINGS,
  startDesk,
} from './desk.ts';
import { type Receiver, SECRET, startReceiver, verified } from './receiver.ts';

/** Quick, so that a test waits for the service's clock and not for ours. */
const UPKEEP = { lookMs: 20, expiryMs: 20 };

const EMAIL = { from: 'desk@example.com', to: ['bob@example.com', 'carol@example.com'] };
const CANARY = 'T0CANARY/B0CANARY/xyzcanary';

/** A capability whose policy lets cards show the amount and the name, and not the account. */
function world() {
  const scripts = createWorld();
  const refund = defineCapability({
    name: 'issue_refund',
    description: 'Refunds',
    minimum_scope: ['a.use'],
    side_effect: 'irreversible',
    inputs: [
      { name: 'amount', type: 'number', required: false },
      { name: 'name', type: 'string', required: false },
      { name: 'iban', type: 'string', required: false },
    ],
    cost: { certainty: 'fixed', financial: { currency: 'USD', amount: 10 } },
    approval: { when: 'always', grant_policy: POLICY, card_inputs: ['amount', 'name'] },
    handler: scripts.handler('issue_refund'),
  });
  const titled = defineCapability({
    name: 'pay_back',
    title: 'Pay {amount} back to {name} at {iban}',
    description: 'Pays back',
    minimum_scope: ['a.use'],
    side_effect: 'irreversible',
    inputs: [
      { name: 'amount', type: 'number', semantic_type: 'money' },
      { name: 'name', type: 'string', required: false },
      { name: 'iban', type: 'string', required: false },
    ],
    cost: { certainty: 'fixed', financial: { currency: 'USD', amount: 10 } },
    approval: { when: 'always', grant_policy: POLICY, card_inputs: ['amount', 'name'] },
    handler: scripts.handler('pay_back'),
  });
  const definition = createService({ id: 'card-desk', capabilities: [refund, titled] });
  return { ...scripts, definition };
}

interface SlackMessage {
  readonly text: string;
  readonly blocks: readonly { text: { type: string; text: string; verbatim?: boolean } }[];
}

async function openDesk(store: string, webhooks: object[]): Promise<Desk> {
  return startDesk({ store, settings: { webhooks }, upkeep: UPKEEP, world: world() });
}

const slack = (receiver: Receiver, more = {}) => ({
  name: 'slack',
  format: 'slack',
  allow_inside: true,
  url: receiver.url.replace('/hook', `/services/${CANARY}`),
  ...more,
});
const email = (receiver: Receiver, more = {}) => ({
  name: 'mail',
  format: 'email',
  url: receiver.url,
  allow_inside: true,
  email: EMAIL,
  ...more,
});

const receive = async () => closedAtEnd(await startReceiver());

async function deliveries(desk: Desk) {
  const { status, body } = await desk.ask('GET', '/svc/operator/deliveries', { bearer: OPERATOR });
  assert.equal(status, 200);
  return body.deliveries;
}

for (const place of STORES) {
  describe(place.name, () => {
    test('a card for Slack says who asks for what, and leads to the page', async () => {
      const receiver = await receive();
      const { url } = await place.open();
      const desk = await openDesk(url, [slack(receiver)]);
      const token = await desk.token({ subject: 'agent:planner' });
      const parameters = { amount: 250, name: 'Ann', iban: 'DE-CANARY-IBAN' };
      const fields = { note: 'CANARY words of the agent' };
      const { body } = await desk.invoke(token.token, 'issue_refund', parameters, { fields });
      const id = body.failure.approval_request_id;
      await desk.granted(id);
      await eventually(() => receiver.received.length === 2);

      const sent = receiver.received.map((each) => JSON.parse(each.body) as SlackMessage);
      const asks = sent.find(({ text }) => text.includes('asks to use')) as SlackMessage;
      const granted = sent.find(({ text }) => text.includes('approved')) as SlackMessage;
      assert.equal(asks.text, 'agent:planner for alice asks to use “Issue refund”');
      assert.equal(
        granted.text,
        'agent:planner for alice asked to use “Issue refund”: approved by bob',
      );
      const [line, facts, link] = asks.blocks.map(({ text }) => text);
      assert.equal(line?.text, asks.text);
      assert.match(
        facts?.text ?? '',
        /^Capability: issue_refund\nAsks: agent:planner ← alice\nEffect: Cannot be undone\nCost: 10\.00 USD\namount: 250\nname: Ann\nApproved: 0 of 1\nExpires: .* UTC\nService: card-desk\nRequest: apr_/,
      );
      assert.deepEqual(link, {
        type: 'mrkdwn',
        verbatim: true,
        text: `<http://localhost/console/approvals/${id}|Open the request to decide>`,
      });
      for (const { body: raw, headers } of receiver.received) {
        assert.equal(raw.includes('CANARY'), false, raw);
        assert.equal(raw.includes('iban'), false);
        assert.equal(headers['webhook-signature'], undefined);
        assert.match(String(headers['webhook-id']), /^msg_/);
      }
    });

    test('a card fills only those places of a title whose inputs the policy names', async () => {
      const receiver = await receive();
      const { url } = await place.open();
      const desk = await openDesk(url, [slack(receiver, { events: ['requested'] })]);
      const token = await desk.token();
      const iban = 'DE-CANARY-IBAN';
      await desk.asked(token, 'pay_back', { amount: 250, name: 'https://evil.example', iban });
      await desk.asked(token, 'pay_back', { amount: 1, iban });
      await eventually(() => receiver.received.length === 2);

      const texts = receiver.received.map(({ body }) => (JSON.parse(body) as SlackMessage).text);
      assert.deepEqual(texts.sort(), [
        'agent:a for alice asks to use “Pay 1.00 USD back to [name] at [iban]”',
        'agent:a for alice asks to use “Pay 250.00 USD back to https[:]//evil[.]example at [iban]”',
      ]);
      for (const { body } of receiver.received) assert.equal(body.includes('CANARY'), false);
    });

    test('a card by email has a subject of one line, and everything escaped', async () => {
      const receiver = await receive();
      const { url } = await place.open();
      const fields = {
        from: 'From',
        to: 'To',
        subject: 'Subject',
        text: 'TextBody',
        html: 'HtmlBody',
      };
      const postmark = email(receiver, {
        name: 'other',
        events: ['denied'],
        secret: SECRET,
        email: { ...EMAIL, fields, to_as: 'text' },
      });
      const desk = await openDesk(url, [email(receiver, { events: ['requested'] }), postmark]);
      const token = await desk.token();
      const parameters = { name: `<img src=x onerror="a">'&`, iban: 'DE-CANARY-IBAN' };
      const id = await desk.asked(token, 'issue_refund', parameters);
      await eventually(() => receiver.received.length === 1);
      await desk.deny(CAROL, id, 'CANARY reason');
      await eventually(() => receiver.received.length === 2);

      const [asks, denied] = receiver.received.map((each) => JSON.parse(each.body));
      assert.deepEqual([asks.from, asks.to], [EMAIL.from, EMAIL.to]);
      assert.equal(asks.subject, 'Approval: agent:a for alice asks to use “Issue refund”');
      assert.match(
        asks.text,
        new RegExp(`Open the request to decide: http://localhost/console/approvals/${id}\n`),
      );
      assert.ok(
        asks.html.includes('<td>&lt;img src=x onerror=&quot;a&quot;&gt;&#39;&amp;</td>'),
        asks.html,
      );
      assert.ok(asks.html.includes(`<a href="http://localhost/console/approvals/${id}">`));
      assert.equal(denied.To, 'bob@example.com, carol@example.com');
      assert.match(denied.Subject, /asked to use “Issue refund”: denied by carol$/);
      assert.deepEqual(Object.keys(denied).sort(), Object.values(fields).sort());
      const [first, second] = receiver.received;
      assert.equal(first?.headers['webhook-signature'], undefined);
      if (second) verified(second);
      for (const { body } of receiver.received) assert.equal(body.includes('CANARY'), false, body);
    });

    test('no text of a caller becomes a link, a mention or a format', async () => {
      const receiver = await receive();
      const { url } = await place.open();
      const only = { events: ['requested'] };
      const desk = await openDesk(url, [slack(receiver, only), email(receiver, only)]);
      const names = [
        '<!channel>',
        '<https://evil.example|click>',
        'https://evil.example/x',
        'www.evil.example',
        'a\r\nBcc: evil@evil.example',
        '*bold* _it_ ~no~ `code` &lt;!here&gt; @here',
        '</td><a href="javascript:1">x</a>',
        '\u202eelpmaxe.live\u200b',
        'x'.repeat(5_000),
      ];
      const subject = 'agent:<!channel>|https://evil.example';
      for (const name of names) {
        const token = await desk.token({ subject });
        await desk.asked(token, 'issue_refund', { name });
      }
      await eventually(() => receiver.received.length === 2 * names.length);

      const sent = receiver.received.map(({ body }) => JSON.parse(body));
      for (const message of sent.filter(({ blocks }) => blocks)) {
        const { text, blocks } = message as SlackMessage;
        const texts = [text, ...blocks.map((block) => block.text.text)];
        const own = blocks.at(-1)?.text.text ?? '';
        for (const each of texts) assert.ok(each.length <= 3_000);
        for (const each of texts.filter((other) => other !== own)) {
          assert.doesNotMatch(each, /[<>]|:\/\/|evil\.example\b|[\r\u200b\u202e]/, each);
        }
        assert.match(
          own,
          /^<http:\/\/localhost\/console\/approvals\/apr_[0-9a-f]{32}\|Open the request to decide>$/,
        );
        assert.deepEqual(
          blocks.map((block) => block.text.type),
          ['plain_text', 'plain_text', 'mrkdwn'],
        );
        assert.match(
          text,
          /^agent:&lt;!channel&gt;\|https\[:\]\/\/evil\[\.\]example for alice asks/,
        );
      }
      for (const message of sent.filter(({ html }) => html)) {
        assert.doesNotMatch(message.subject, /[\p{Cc}]/u);
        assert.ok([...message.subject].length <= 200);
        const tags = [...message.html.matchAll(/<\/?([a-z]+)/g)].map(([, tag]) => tag);
        assert.deepEqual([...new Set(tags)].sort(), ['a', 'b', 'p', 'table', 'td', 'th', 'tr']);
        assert.equal(message.html.match(/<a /g)?.length, 1);
        assert.doesNotMatch(message.html.replaceAll(/href="[^"]*"/g, ''), /:\/\/|evil\.example\b/);
        assert.doesNotMatch(message.text, /[\r\u200b\u202e]/);
      }
    });

    test('the path of an address is in no log line and not in the list of operators', async () => {
      const receiver = await receive();
      receiver.answer((response) => void response.writeHead(500).end('no_service'));
      const { url } = await place.open();
      const gone = await startReceiver();
      await gone.close();
      const outside = {
        ...slack(receiver, { name: 'outside' }),
        url: `https://127.0.0.1/${CANARY}`,
      };
      const desk = await openDesk(url, [
        slack(receiver),
        slack(gone, { name: 'gone' }),
        { ...outside, allow_inside: false },
      ]);
      await desk.asked(await desk.token(), 'issue_refund', { iban: 'DE-CANARY-IBAN' });
      await eventually(async () => {
        const seen = await deliveries(desk);
        return (
          seen.length === 3 && seen.every(({ attempts }: { attempts: number }) => attempts === 1)
        );
      });

      const said = desk.log.join('') + JSON.stringify(await deliveries(desk));
      assert.match(said, /answered 500/);
      assert.match(said, /ECONNREFUSED/);
      assert.match(said, /inside address/);
      assert.equal(/canary/i.test(said), false, said);
    });

    test('a receiver that asks for a pause gets it', async () => {
      const receiver = await receive();
      receiver.answer((response) => void response.writeHead(429, { 'retry-after': '45' }).end());
      const { url } = await place.open();
      const desk = await openDesk(url, [slack(receiver, { events: ['requested'] })]);
      await desk.asked(await desk.token(), 'issue_refund');
      await eventually(async () => (await deliveries(desk))[0]?.attempts === 1);
      const [waiting] = await deliveries(desk);

      receiver.answer((response) => void response.writeHead(200).end('ok'));
      desk.advance(44_000);
      const early = receiver.received.length;
      desk.advance(1_500);
      await eventually(async () => (await deliveries(desk))[0]?.state === 'delivered');

      assert.match(waiting.last_error, /answered 429/);
      assert.equal(early, 1);
      assert.equal(receiver.received.length, 2);
    });
  });
}

test('an address and a header of the environment reach the receiver, and no log line', async () => {
  const receiver = await receive();
  receiver.answer((response) => void response.writeHead(500).end());
  const lines: string[] = [];
  const address = receiver.url.replace('/hook', `/services/${CANARY}?key=canary`);
  const target = { ...slack(receiver), url: undefined, url_env: 'HOOK' } as const;
  const running = closedAtEnd(
    await serve(world().definition, {
      folder: temporaryFolder(),
      signals: false,
      log: createLog('debug', { write: (line) => void lines.push(line) }),
      environment: { PORT: '0', WRIT_STORE: 'memory:', HOOK: address, HOOK_KEY: 'Bearer canary' },
      settings: {
        identities: SETTINGS.identities,
        webhooks: [{ ...target, header_env: { authorization: 'HOOK_KEY' } }] as never,
      },
    }),
  );
  const post = (path: string, bearer: string, body: object) =>
    fetch(`${running.url}${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${bearer}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
  const issued = await post('/svc/tokens', ALICE, { scope: ['a.use'], subject: 'agent:a' });
  const { token } = (await issued.json()) as { token: string };
  await post('/svc/invoke/issue_refund', token, { parameters: {} });
  await eventually(() => lines.some((line) => line.includes('was not delivered')));
  const metrics = await (await fetch(`${running.url}/metrics`)).text();

  assert.match(metrics, /^writ_webhook_failures_total\{state="pending"\} [1-9]/m);
  assert.match(metrics, /^writ_approvals_open 1$/m);
  const [sent] = receiver.received;
  assert.equal(sent?.path, `/services/${CANARY}?key=canary`);
  assert.equal(sent?.headers.authorization, 'Bearer canary');
  assert.equal(/canary/i.test(lines.join('')), false);
});
