/**
 * The numbers with which every command ends, and the error that carries one.
 *
 * @module
 */

export const EXIT_OK = 0;

/** The command ran, and the answer is no: a check found a fault, or the service refused. */
export const EXIT_FOUND = 1;

/** The command could not run: a wrong option, a broken configuration, a file that cannot be read. */
export const EXIT_FAILED = 2;

/** A person has to approve the call first. */
export const EXIT_APPROVAL = 3;

/** There is no credential, or the service does not accept it (any more). */
export const EXIT_CREDENTIAL = 4;

/** The service does not answer, or is not ready: the same command may succeed later. */
export const EXIT_UNAVAILABLE = 5;

/** What each number means, for help and documentation. */
export const EXIT_MEANINGS: readonly (readonly [status: number, meaning: string])[] = [
  [EXIT_OK, 'done'],
  [EXIT_FOUND, 'the answer is no: a check found a fault, or the service refused'],
  [EXIT_FAILED, 'the command could not run: an option, a file or the configuration is wrong'],
  [EXIT_APPROVAL, 'a person has to approve the call first'],
  [EXIT_CREDENTIAL, 'there is no credential, or the service does not accept it'],
  [EXIT_UNAVAILABLE, 'the service does not answer or is not ready; try again later'],
];

/** Ends a command with a number of its own. The message completes "Cannot …: ". */
export class CommandFault extends Error {
  readonly exit: number;

  constructor(message: string, { exit, ...options }: ErrorOptions & { readonly exit: number }) {
    super(message, options);
    this.name = 'CommandFault';
    this.exit = exit;
  }
}
