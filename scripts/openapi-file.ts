/**
 * The API description of a service that offers every operation, as a file.
 *
 * @module
 */

import { openApiDocument } from '../src/openapi/openapi.ts';
import { type OperationName, operations } from '../src/protocol/operations.ts';

export function openApiFile(): string {
  const every = Object.keys(operations) as OperationName[];
  return `${JSON.stringify(openApiDocument(every), null, 2)}\n`;
}
