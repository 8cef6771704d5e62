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

// The file that renders the reference: dist/browser/standalone.js of the npm package
// @scalar/api-reference 1.72.1, compressed.
const (
	scalarFile   = "scalar-1.72.1.js.gz"
	scalarSHA256 = "bf091006bdc3af6067af77c2f534812e3e633e94a94e87138069f570f33b762c" // unpacked
)

// mediaTypes maps the file extensions of the assets to their media types.
var mediaTypes = map[string]string{
	".css": "text/css; charset=utf-8",
	".js":  "text/javascript; charset=utf-8",
	".svg": "image/svg+xml",
	".txt": "text/plain; charset=utf-8",
}

// assetNames returns the name of each asset below the site. It has the hash of the content before
// the extension, so that the asset may be cached forever.
var assetNames = sync.OnceValue(func() map[string]string {
	names := map[string]string{}
	for _, file := range listAssets() {
		ending := path.Ext(strings.TrimSuffix(file, ".gz"))
		base := strings.TrimSuffix(strings.TrimSuffix(file, ".gz"), ending)
		names[file] = "/assets/" + base + "." + hashOf(readAsset(file)) + ending
	}
	return names
})

// assetAnswers returns the assets by request path.
func assetAnswers() map[string]*answer {
	answers := map[string]*answer{}
	for file, name := range assetNames() {
		body := readAsset(file)
		var a *answer
		if strings.HasSuffix(file, ".gz") {
			a = plainAnswer(mediaTypes[path.Ext(name)], body)
			a.gzipped = body
			a.plain = sync.OnceValue(func() []byte { return pages.Unpack(body) }) // large, and rarely requested
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
		panic(err) // they are embedded in the program
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
