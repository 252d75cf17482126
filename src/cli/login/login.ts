/**
 * `writ login` and `writ logout`: a delegation for the commands of this user, given in a browser.
 *
 * @module
 */

import { spawn } from 'node:child_process';
import { leaf } from '../shell/command.ts';
import { CommandFault, EXIT_CREDENTIAL } from '../shell/exit.ts';
import { flag, value } from '../shell/options.ts';
import { JSON_OPTION, printJson, printLine } from '../shell/output.ts';
import { baseOf } from '../shell/remote.ts';
import { endLogin, logIn } from './flow.ts';
import { LOGINS_VARIABLE, loginsFile, savedLogins, saveLogin } from './saved.ts';
import { SERVICE_OPTIONS, serviceOf } from './session.ts';

export const loginCommand = leaf({
  name: 'login',
  summary: 'get a delegation from a service by signing in with a browser',
  about: `Opens the sign-in page of a service in a browser. You decide there what commands may do for you, up to which amount and for how long. The delegation is saved for this user in a file with mode 0600; commands that are given the same --service and no other credential use it and renew it.

The file is logins.json in the state folder of the user, or $${LOGINS_VARIABLE}.`,
  options: {
    service: SERVICE_OPTIONS.service,
    scope: value(
      '<scopes>',
      'what to ask for, separated by spaces (default: everything; you choose in the browser)',
    ),
    'no-open': flag('print the address and open no browser'),
    ...JSON_OPTION,
  },
  examples: [
    ['writ login --service http://127.0.0.1:8420', 'sign in with your browser'],
    ['writ login --service http://127.0.0.1:8420 --no-open', 'only print the address to open'],
  ],
  cannot: 'log in',
  async run(given, io) {
    const service = baseOf(serviceOf(given.service, io));
    const file = loginsFile(io);
    // A file that cannot be used is found before the person has signed in.
    const before = savedLogins(file)[service];
    const show = (address: string) => {
      io.err(`Open this address to sign in:\n${address}\n`);
      if (io.isTerminal?.out && !given['no-open']) openBrowser(address);
    };
    const { scope, ...saved } = await logIn({ service, scope: given.scope, show });
    await saveLogin(file, service, saved);
    // The delegation of an earlier login would live on without a holder.
    if (before) await endLogin(before).catch(() => undefined);
    if (given.json) printJson(io, { service, scope: scope ?? null });
    else printLine(io, `Logged in to ${service}: ${scope ?? 'no scope was named'}`);
  },
});

export const logoutCommand = leaf({
  name: 'logout',
  summary: 'end the delegation of a login',
  about:
    'Ends the delegation that "writ login" got from a service, and removes it from the file of logins.',
  options: { service: SERVICE_OPTIONS.service, ...JSON_OPTION },
  examples: [['writ logout --service http://127.0.0.1:8420', 'end your login there']],
  cannot: 'log out',
  async run(given, io) {
    const service = baseOf(serviceOf(given.service, io));
    const file = loginsFile(io);
    const saved = savedLogins(file)[service];
    if (!saved) {
      throw new CommandFault(`there is no login for "${service}"`, { exit: EXIT_CREDENTIAL });
    }
    await endLogin(saved);
    await saveLogin(file, service, undefined);
    if (given.json) printJson(io, { service });
    else printLine(io, `Logged out of ${service}`);
  },
});

/** The program of each system that opens an address in the browser of the user. */
const OPENERS: Partial<Record<NodeJS.Platform, readonly [string, ...string[]]>> = {
  darwin: ['open'],
  win32: ['rundll32', 'url.dll,FileProtocolHandler'],
};

/** Best effort: the address is printed as well. */
function openBrowser(address: string): void {
  const [program, ...first] = OPENERS[process.platform] ?? ['xdg-open'];
  const opened = spawn(program, [...first, address], { stdio: 'ignore', detached: true });
  opened.on('error', () => undefined);
  opened.unref();
}
