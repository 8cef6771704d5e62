package docsite

import (
	"embed"
	"path"
	"strings"
	"sync"

	"waybill/adapters/pages"
)

//go:embed assets
var assetFiles embed.FS

// The file that draws the reference: dist/browser/standalone.js of the npm
// package @scalar/api-reference 1.72.1, compressed.
const (
	scalarFile   = "scalar-1.72.1.js.gz"
	scalarSHA256 = "bf091006bdc3af6067af77c2f534812e3e633e94a94e87138069f570f33b762c" // unpacked
)

// mediaTypes are those of the assets, by the ending of their names.
var mediaTypes = map[string]string{
	".css": "text/css; charset=utf-8",
	".js":  "text/javascript; charset=utf-8",
	".svg": "image/svg+xml",
	".txt": "text/plain; charset=utf-8",
}

// assetNames says under which name below the site an asset is found: its own,
// with its content's hash before the ending, so that it may be kept for ever.
var assetNames = sync.OnceValue(func() map[string]string {
	names := map[string]string{}
	for _, file := range listAssets() {
		ending := path.Ext(strings.TrimSuffix(file, ".gz"))
		base := strings.TrimSuffix(strings.TrimSuffix(file, ".gz"), ending)
		names[file] = "/assets/" + base + "." + hashOf(readAsset(file)) + ending
	}
	return names
})

// assetAnswers are the assets by the path that is asked for.
func assetAnswers() map[string]*answer {
	answers := map[string]*answer{}
	for file, name := range assetNames() {
		body := readAsset(file)
		var a *answer
		if strings.HasSuffix(file, ".gz") {
			a = plainAnswer(mediaTypes[path.Ext(name)], body)
			a.gzipped = body
			a.plain = sync.OnceValue(func() []byte { return pages.Unpack(body) }) // rarely asked for, and large
		} else {
			a = newAnswer(mediaTypes[path.Ext(name)], body)
		}
		a.immutable = true
		answers[Prefix+name] = a
	}
	return answers
}

func listAssets() []string {
	entries, err := assetFiles.ReadDir("assets")
	if err != nil {
		panic(err) // they are in the program
	}
	files := make([]string, 0, len(entries))
	for _, e := range entries {
		files = append(files, e.Name())
	}
	return append(files, iconFile)
}

// iconFile is the logo of all pages.
const iconFile = "icon.svg"

func readAsset(file string) []byte {
	if file == iconFile {
		return pages.Icon()
	}
	body, err := assetFiles.ReadFile("assets/" + file)
	if err != nil {
		panic(err)
	}
	if file == "base.css" {
		return append(pages.Tokens(), body...)
	}
	return body
}
