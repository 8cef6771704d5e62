// Package configs is every setting of the program: one struct, Config, that
// says of each its name, default, meaning and rule. The reference table, the
// example file, the flags and the error messages all come from that struct.
//
// A setting is looked for in this order: flag, environment (WAYBILL_NAME, or
// WAYBILL_NAME_FILE for what may hold a secret), configuration file, data
// directory, default.
//
// Decisions that bind this package:
//
//   - All problems are told at once, each with the name of the setting, where
//     its value came from and how to mend it. Values that may hold a secret
//     are never repeated.
//   - A mistyped name in the file stops the program, since only this program
//     reads the file. A mistyped WAYBILL_ variable is a warning: the environment
//     is shared with other programs.
//   - An empty variable counts as not set, so that a file of variables can
//     name what it leaves alone.
//   - A secret has a type of its own that prints as [redacted] wherever it is
//     formatted, logged or marshalled. Remembering to mask it was rejected.
package configs
