// Package process serves on listeners, beside tasks, until it is told to stop, and
// then drains: first the requests that are under way, then the tasks, and last the
// listener of operators, which tells meanwhile that the process is not ready.
package process
