/**
 * The ISO 4217 currencies and how many decimals each has: the active list of 1 January 2026.
 *
 * Our own table, because `Intl` follows local habit and disagrees with the standard. Funds codes are
 * in it; codes without a minor unit (metals, bond units, XDR, XTS, XXX) are not, since an amount in
 * them has no smallest part to count. Knows nothing about rates, names or symbols.
 *
 * @module
 */

/** Active codes by number of decimals. */
const CODES: readonly (readonly [exponent: number, codes: string])[] = [
  [0, 'BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF'],
  [
    2,
    `AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BMD BND BOB BOV BRL BSD BTN BWP BYN BZD CAD
    CDF CHE CHF CHW CNY COP COU CRC CUP CVE CZK DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP
    GMD GTQ GYD HKD HNL HTG HUF IDR ILS INR IRR JMD KES KGS KHR KPW KYD KZT LAK LBP LKR LRD LSL MAD
    MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MXV MYR MZN NAD NGN NIO NOK NPR NZD PAB PEN PGK PHP
    PKR PLN QAR RON RSD RUB SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP STN SVC SYP SZL THB TJS TMT
    TOP TRY TTD TWD TZS UAH USD USN UYU UZS VED VES WST XAD XCD XCG YER ZAR ZMW ZWG`,
  ],
  [3, 'BHD IQD JOD KWD LYD OMR TND'],
  [4, 'CLF UYW'],
];

/** A map, so that a currency called "constructor" is looked up like any other and not found. */
export const CURRENCY_EXPONENTS: ReadonlyMap<string, number> = new Map(
  CODES.flatMap(([exponent, codes]) =>
    codes.split(/\s+/).map((code): [string, number] => [code, exponent]),
  ),
);

/** Decimals of the currency, or undefined when it is not in the table. */
export function exponentOf(currency: string): number | undefined {
  return CURRENCY_EXPONENTS.get(currency);
}

export function isCurrency(currency: unknown): currency is string {
  return typeof currency === 'string' && CURRENCY_EXPONENTS.has(currency);
}
