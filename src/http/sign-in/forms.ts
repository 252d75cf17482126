/**
 * Reads the body of a form: `application/x-www-form-urlencoded`, strictly.
 *
 * A name may occur once, unless the caller says that it repeats: of two values, two readers could take
 * different ones. Knows nothing of what the fields mean.
 *
 * @module
 */

/** In bytes. The longest form is a consent to a large catalog. */
const FORM_BYTES_MAX = 65_536;

/** Fields of one form: those of a consent, with one for each ticked capability. */
const FIELDS_MAX = 1_000;

export interface Form {
  /** The value of a field that occurs once. Undefined when it is absent. */
  one(name: string): string | undefined;
  /** Every value of a field, in the order sent. */
  all(name: string): readonly string[];
  names(): readonly string[];
}

type FormReading = { readonly form: Form } | { readonly fault: string };

/** `repeatable` names the fields that may occur several times. */
export function readForm(body: Uint8Array, repeatable: readonly string[] = []): FormReading {
  if (body.length > FORM_BYTES_MAX) {
    return { fault: `Cannot read the form: it is larger than ${FORM_BYTES_MAX} bytes` };
  }
  const pieces = body.length === 0 ? [] : (decoded(body)?.split('&') ?? undefined);
  if (!pieces) return { fault: 'Cannot read the form: it is not UTF-8' };
  if (pieces.length > FIELDS_MAX) {
    return { fault: `Cannot read the form: it has more than ${FIELDS_MAX} fields` };
  }
  const fields = new Map<string, string[]>();
  for (const piece of pieces) {
    const field = fieldIn(piece);
    if (!field) return { fault: 'Cannot read the form: expected name=value, encoded as UTF-8' };
    const [name, value] = field;
    const values = fields.get(name);
    if (values && !repeatable.includes(name)) {
      return { fault: 'Cannot read the form: a field occurs twice' };
    }
    if (values) values.push(value);
    else fields.set(name, [value]);
  }
  return {
    form: {
      one: (name) => fields.get(name)?.[0],
      all: (name) => fields.get(name) ?? [],
      names: () => [...fields.keys()],
    },
  };
}

const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

function decoded(body: Uint8Array): string | undefined {
  try {
    return UTF8.decode(body);
  } catch {
    return undefined;
  }
}

function fieldIn(piece: string): [name: string, value: string] | undefined {
  const at = piece.indexOf('=');
  if (at < 1) return undefined;
  try {
    const [name, value] = [piece.slice(0, at), piece.slice(at + 1)].map((part) =>
      decodeURIComponent(part.replaceAll('+', ' ')),
    ) as [string, string];
    // PostgreSQL cannot store U+0000.
    return name.includes('\0') || value.includes('\0') ? undefined : [name, value];
  } catch {
    return undefined;
  }
}
