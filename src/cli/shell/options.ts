/**
 * Options of a command as a table: what help shows, what completion offers, and the type of what was given.
 *
 * @module
 */

export interface Option<Value> {
  readonly kind: 'value' | 'flag' | 'list' | 'number' | 'rest';
  /** How help names the value, such as `<file>`. Absent for a flag. */
  readonly form?: string;
  readonly help: string;
  readonly isNeeded?: boolean;
  readonly choices?: readonly string[];
  /** Only a type: what the command gets. */
  readonly given?: Value;
}

export type Options = Readonly<Record<string, Option<unknown>>>;

/** What a command gets: one member for each option and each operand, by its name. */
export type Given<Table extends Options> = {
  readonly [Name in keyof Table]: Table[Name] extends Option<infer Value> ? Value : never;
};

export function flag(help: string): Option<boolean> {
  return { kind: 'flag', help };
}

export function value(form: `<${string}>`, help: string): Option<string | undefined> {
  return { kind: 'value', form, help };
}

/** The command does not run without it. */
export function needed(form: `<${string}>`, help: string): Option<string> {
  return { kind: 'value', form, help, isNeeded: true };
}

/** May be repeated. */
export function list(form: `<${string}>`, help: string): Option<readonly string[]> {
  return { kind: 'list', form, help };
}

/** A positive whole number. */
export function number(form: `<${string}>`, help: string): Option<number | undefined> {
  return { kind: 'number', form, help };
}

export function choice<const Name extends string>(
  choices: readonly Name[],
  help: string,
): Option<Name | undefined> {
  return { kind: 'value', form: `<${choices.join('|')}>`, help, choices };
}

/** A choice without which the command does not run. */
export function neededChoice<const Name extends string>(
  choices: readonly Name[],
  help: string,
): Option<Name> {
  return { kind: 'value', form: `<${choices.join('|')}>`, help, choices, isNeeded: true };
}

/** An operand: every word after `--`, as it is. Absent without a `--`. */
export function rest(form: `<${string}`, help: string): Option<readonly string[] | undefined> {
  return { kind: 'rest', form, help };
}
