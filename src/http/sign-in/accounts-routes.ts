/**
 * The paths of accounts: a person connects an account at another service, and comes back from there.
 *
 * Translates between a browser and `service/accounts`. The sealed state of a login is in a cookie of its own, which
 * ends with the first answer.
 *
 * @module
 */

import { failure, Refusal } from '../../domain/failure.ts';
import type { Accounts } from '../../service/accounts/accounts.ts';
import type { Session } from '../../service/sign-in/sessions.ts';
import type { Exchange, HttpAnswer } from '../exchange.ts';
import { statusOf } from '../status.ts';
import { accountsPage, leavingPage } from './accounts-page.ts';
import { faultAnswer, frameOf, pageAnswer, redirectAnswer } from './arrival.ts';
import { formOf, LOGIN_SECONDS, type PageParts, requestQuery, sessionIn } from './page-parts.ts';

type AccountMethod = (
  parts: PageParts,
  exchange: Exchange,
  session: Session,
) => Promise<HttpAnswer>;

export interface AccountPages {
  readonly show: AccountMethod;
  readonly connect: AccountMethod;
  readonly disconnect: AccountMethod;
  /** Where the other service sends the browser. Needs no session to be answered. */
  readonly callback: (parts: PageParts, exchange: Exchange) => Promise<HttpAnswer>;
}

export function accountPages(accounts: Accounts): AccountPages {
  return {
    show: (...asked) => show(accounts, asked),
    connect: (...asked) => connect(accounts, asked),
    disconnect: (...asked) => disconnect(accounts, asked),
    callback: (parts, exchange) => callback(accounts, parts, exchange),
  };
}

type Asked = Parameters<AccountMethod>;

async function show(
  accounts: Accounts,
  [{ signIn, basePath }, exchange, session]: Asked,
): Promise<HttpAnswer> {
  const { name } = exchange.params;
  const whole = await accounts.list(session);
  const view = {
    ...whole,
    accounts: whole.accounts.filter((each) => name === undefined || each.name === name),
  };
  if (view.accounts.length === 0) {
    const detail = 'Cannot find the account: there is none with this name';
    throw new Refusal(failure('not_found', detail));
  }
  const html = accountsPage(frameOf(signIn, basePath, session), view);
  return pageAnswer(exchange, html);
}

async function connect(accounts: Accounts, [parts, exchange, session]: Asked): Promise<HttpAnswer> {
  formOf(parts, exchange, session);
  const { location, login } = await accounts.begin(session, exchange.params.name ?? '');
  const cookies = [parts.cookies().account.write(login, LOGIN_SECONDS)];
  const html = leavingPage(frameOf(parts.signIn, parts.basePath, session), location);
  const answer = pageAnswer(exchange, html, { cookies });
  return { ...answer, headers: { ...answer.headers, refresh: `0; url=${location}` } };
}

async function disconnect(
  accounts: Accounts,
  [parts, exchange, session]: Asked,
): Promise<HttpAnswer> {
  formOf(parts, exchange, session);
  await accounts.disconnect(session, exchange.params.name ?? '');
  return redirectAnswer(exchange, `${parts.basePath}/accounts`);
}

async function callback(
  accounts: Accounts,
  parts: PageParts,
  exchange: Exchange,
): Promise<HttpAnswer> {
  const { account } = parts.cookies();
  const login = account.read(exchange.ask);
  const session = await sessionIn(parts, exchange);
  const cleared = [account.clear()];
  // The answer is of no use in another session, so it does not travel on.
  if (!session) {
    const query = new URLSearchParams({ return_to: '/accounts' });
    return redirectAnswer(exchange, `${parts.basePath}/sign-in?${query}`, cleared);
  }
  try {
    const back = { query: requestQuery(exchange), login };
    await accounts.finish(session, exchange.params.name ?? '', back);
    return redirectAnswer(exchange, `${parts.basePath}/accounts`, cleared);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    const answer = faultAnswer(exchange, frameOf(parts.signIn, parts.basePath, session), {
      status: statusOf(error.failure),
      title: 'The account is not connected',
      text: error.failure.detail,
      link: { path: '/accounts', label: 'To your accounts' },
    });
    return { ...answer, headers: { ...answer.headers, 'set-cookie': cleared } };
  }
}
