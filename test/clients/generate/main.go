// Command generate writes the clients of the public API from its description:
// the types and methods in Go, the table of operations in TypeScript, and the
// Bruno collection. The types in TypeScript are openapi-typescript's work, which
// .tools/clients.sh runs beside it.
//
// oapi-codegen 2.8 was tried and left: it refuses two types that come out under
// one name, and with these renamed it writes 52,000 lines which keep alternatives
// as raw JSON and need modules of their own at run time. Taken as what they are,
// the rules are few: a struct for an object, the union of the fields for
// alternatives, a method for an operation.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

func main() {
	description := flag.String("description", "adapters/httpapi/openapi.yaml", "the OpenAPI `file`")
	out := flag.String("out", "adapters/clients", "the `folder` of the clients")
	flag.Parse()
	if err := run(*description, *out); err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}

func run(description, out string) error {
	text, err := os.ReadFile(description)
	if err != nil {
		return err
	}
	d, err := read(text)
	if err != nil {
		return err
	}
	files := map[string][]byte{}
	for _, render := range []func(*document, map[string][]byte) error{renderGo, renderTypeScript, renderBruno} {
		if err := render(d, files); err != nil {
			return err
		}
	}
	for name, text := range files {
		if err := write(filepath.Join(out, filepath.FromSlash(name)), text); err != nil {
			return err
		}
	}
	return sweep(filepath.Join(out, "bruno"), out, files)
}

// write replaces a file in one step and only where it differs, so that a build
// running meanwhile never reads half of it.
func write(file string, text []byte) error {
	if old, err := os.ReadFile(file); err == nil && bytes.Equal(old, text) {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	next, err := os.CreateTemp(filepath.Dir(file), ".generated-*.tmp")
	if err != nil {
		return err
	}
	defer os.Remove(next.Name())
	_, err = next.Write(text)
	if err := errors.Join(err, next.Chmod(0o644), next.Close()); err != nil {
		return err
	}
	return os.Rename(next.Name(), file)
}

// sweep removes requests of operations that are no more.
func sweep(dir, out string, files map[string][]byte) error {
	return filepath.WalkDir(dir, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(file, ".bru") {
			return err
		}
		name, err := filepath.Rel(out, file)
		if err != nil {
			return err
		}
		if _, made := files[filepath.ToSlash(name)]; made {
			return nil
		}
		return os.Remove(file)
	})
}
