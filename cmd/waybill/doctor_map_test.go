package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"waybill/adapters/cli/doctor"
	"waybill/test/streets"
)

func TestAStreetMapThatCannotBeDrawnIsToldAtTheStartAndByTheDoctor(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "map.pmtiles")
	write := func(content []byte) {
		t.Helper()
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	setting := "WAYBILL_MAP_FILE=" + path
	write(streets.World(2).Bytes())
	found(t, examined(t, dir, setting), doctor.VerdictOK, "street map", path, "zooms 0 to 2", "3 layers")
	unnamed := streets.World(0)
	unnamed.Layers = nil
	write(unnamed.Bytes())
	found(t, examined(t, dir, setting), doctor.VerdictWarn, "street map", "no layers")
	write(streets.World(2).Bytes()[:300])
	found(t, examined(t, dir, setting), doctor.VerdictFail, "street map", "WAYBILL_MAP_FILE", "not copied whole")
	o := command(t, append([]string{setting}, freePorts...), "dev", "--data-dir", dir)
	if o.code == 0 || !strings.Contains(o.stderr, "WAYBILL_MAP_FILE") {
		t.Errorf("%d %s", o.code, o.stderr)
	}
	found(t, examined(t, dir, "WAYBILL_MAP_FILE="+path+".gone"), doctor.VerdictFail, "settings", "WAYBILL_MAP_FILE")
}
