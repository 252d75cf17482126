/**
 * `writ login` and `writ logout`: a delegation for the commands of this user, given in a browser.
 *
 * @module
 */

import { spawn } from 'node:child_process';
import { parseArgs } from 'node:util';
import { printable } from '../../domain/wire/printable.ts';
import { joinedValues } from '../shell/arguments.ts';
import { EXIT_FAILED, EXIT_OK } from '../shell/exit.ts';
import type { Io } from '../shell/io.ts';
import { baseOf } from '../shell/remote.ts';
import { endLogin, logIn } from './flow.ts';
import { LOGINS_VARIABLE, loginsFile, savedLogins, saveLogin } from './saved.ts';

const LOGIN_USAGE = `Usage: writ login --service <url> [options]

Opens the sign-in page of a service in a browser. You decide there what commands
may do for you, up to which amount and for how long. The delegation is saved for
this user in a file with mode 0600; commands that are given the same --service and
no other credential use it and renew it.

  --scope <scopes>  what to ask for, separated by spaces (default: everything; you
                    choose in the browser)
  --no-open         print the address and open no browser
  --help            this text

The file is logins.json in the state folder of the user, or $${LOGINS_VARIABLE}.

Exit status: 0 done, 2 it could not be done.
`;

const LOGOUT_USAGE = `Usage: writ logout --service <url>

Ends the delegation that "writ login" got from a service, and removes it from the
file of logins.

Exit status: 0 done, 2 it could not be done.
`;

export async function login(args: readonly string[], io: Io): Promise<number> {
  try {
    const { values } = parseArgs({ args: joinedValues(args, options), options });
    if (values.help) {
      io.out(LOGIN_USAGE);
      return EXIT_OK;
    }
    const service = serviceIn(values.service);
    const file = loginsFile(io);
    // A file that cannot be used is found before the person has signed in.
    const before = savedLogins(file)[service];
    const show = (address: string) => {
      io.err(`Open this address to sign in:\n${address}\n`);
      if (io.isTerminal?.out && !values['no-open']) openBrowser(address);
    };
    const { scope, ...saved } = await logIn({ service, scope: values.scope, show });
    await saveLogin(file, service, saved);
    // The delegation of an earlier login would live on without a holder.
    if (before) await endLogin(before).catch(() => undefined);
    io.out(`Logged in to ${service}: ${printable(scope ?? 'no scope was named')}\n`);
    return EXIT_OK;
  } catch (error) {
    io.err(`Cannot log in: ${printable(reasonOf(error))}\n`);
    return EXIT_FAILED;
  }
}

export async function logout(args: readonly string[], io: Io): Promise<number> {
  try {
    const { service: url, help } = parseArgs({
      args: joinedValues(args, logoutOptions),
      options: logoutOptions,
    }).values;
    if (help) {
      io.out(LOGOUT_USAGE);
      return EXIT_OK;
    }
    const service = serviceIn(url);
    const file = loginsFile(io);
    const saved = savedLogins(file)[service];
    if (!saved) throw new Error(`there is no login for "${service}"`);
    await endLogin(saved);
    await saveLogin(file, service, undefined);
    io.out(`Logged out of ${service}\n`);
    return EXIT_OK;
  } catch (error) {
    io.err(`Cannot log out: ${printable(reasonOf(error))}\n`);
    return EXIT_FAILED;
  }
}

const options = {
  service: { type: 'string' },
  scope: { type: 'string' },
  'no-open': { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
} as const;

const logoutOptions = { service: options.service, help: options.help } as const;

function serviceIn(url: string | undefined): string {
  if (url === undefined) throw new Error('no service is named; give --service');
  return baseOf(url);
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

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
