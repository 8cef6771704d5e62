// Package term holds what all commands share on a terminal: flags and arguments, tables or JSON
// on stdout, progress and errors on stderr.
//
// An error says what happened, where it is set and how to fix it, in the words of the command
// line, whatever the layers below call it. Nothing here knows a database or a service.
package term
