package browser

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/image/font/gofont/gobold"
	"golang.org/x/image/font/gofont/gomono"
	"golang.org/x/image/font/gofont/goregular"
)

// onlyGoFonts returns a setting of the environment that gives a browser the fonts of the Go
// project and no other. A layout is then the same on each machine, whatever it has installed.
func onlyGoFonts(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	config := filepath.Join(dir, "fonts.conf")
	for path, content := range map[string][]byte{
		config:                            []byte(`<?xml version="1.0"?><!DOCTYPE fontconfig SYSTEM "fonts.dtd"><fontconfig><dir>` + dir + `</dir></fontconfig>`),
		filepath.Join(dir, "regular.ttf"): goregular.TTF, filepath.Join(dir, "bold.ttf"): gobold.TTF, filepath.Join(dir, "mono.ttf"): gomono.TTF,
	} {
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return "FONTCONFIG_FILE=" + config
}
