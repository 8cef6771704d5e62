// Package term is what all commands have in common on a terminal: flags and
// arguments, tables or JSON on stdout, progress and errors on stderr.
//
// An error is told with what happened, where it is set and how to mend it; the
// words are those of the command line, whatever the layers below call it. Nothing
// here knows a database or a service.
package term
