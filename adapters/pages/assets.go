package pages

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io"
	"net/http"
	"path"
	"strconv"
	"strings"
	"sync"

	"waybill/adapters/web"
)

// Policy holds the Content-Security-Policy of every page. It blocks other origins and all inline
// scripts and styles.
const Policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; " +
	"connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

//go:embed assets
var assetFiles embed.FS

// Tokens returns the colours and fonts as a CSS stylesheet.
func Tokens() []byte { return read("tokens.css") }

// Icon returns the logo as SVG.
func Icon() []byte { return read("icon.svg") }

func read(file string) []byte {
	content, err := assetFiles.ReadFile("assets/" + file)
	if err != nil {
		panic(err) // the file is embedded
	}
	return content
}

// libraries lists compressed third-party files with the SHA-256 of their unpacked content. They
// come from dist/ of the npm package maplibre-gl 6.17.0, which draws street maps. Its licence is in
// the same folder. An update needs the new licence and the new checksums here.
var libraries = map[string]string{
	"maplibre-gl.mjs":        "e02cb08c572fd0950a75343cd558099c2a1dbbaf67f26b0c96f115431962d1ae",
	"maplibre-gl-worker.mjs": "73d7a024a4efe1a46e49db193e18cfe33271e3ecc652ec7542c281a4ef5f0f04",
	"maplibre-gl.css":        "a90798a1953017790e590f7e1bd35ff103a8a4263972cb47290b78adf86f8c20",
}

// kinds maps file extensions to media types.
var kinds = map[string]string{
	".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".mjs": "text/javascript; charset=utf-8",
	".svg": "image/svg+xml", ".txt": "text/plain; charset=utf-8",
}

// asset is a file that pages load. Its name changes with its content, so browsers may cache it
// forever.
type asset struct {
	name, kind string
	packed     []byte
	content    func() []byte // returns the unpacked content
}

var assets = sync.OnceValue(func() map[string]asset {
	all := map[string]asset{}
	add := func(file, sum string, packed []byte, content func() []byte) {
		extension := path.Ext(file)
		all[file] = asset{name: strings.TrimSuffix(file, extension) + "." + sum[:12] + extension, kind: kinds[extension],
			packed: packed, content: content}
	}
	for _, file := range []string{"pages.css", "pages.js", "passkeys.js", "inbox.js", "board.js", "icon.svg",
		"street.css", "street.js", "maplibre-gl.LICENSE.txt"} {
		content := read(file)
		if file == "pages.css" {
			content = append(Tokens(), content...)
		}
		sum := sha256.Sum256(content)
		add(file, hex.EncodeToString(sum[:]), web.Gzip(content, gzip.BestCompression), func() []byte { return content })
	}
	for file, sum := range libraries {
		packed := read(file + ".gz")
		add(file, sum, packed, sync.OnceValue(func() []byte { return Unpack(packed) })) // rarely requested
	}
	return all
})

// Unpack returns the original content of an embedded gzip file.
func Unpack(packed []byte) []byte {
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		panic(err) // the file is embedded
	}
	content, err := io.ReadAll(r)
	if err != nil {
		panic(err)
	}
	return content
}

// ServeAsset serves an asset by the name in its link. It reports whether the asset exists.
func ServeAsset(w http.ResponseWriter, r *http.Request, name string) bool {
	for _, a := range assets() {
		if a.name != name {
			continue
		}
		h, body := w.Header(), a.packed
		h.Set("Content-Type", a.kind)
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
		h.Set("Vary", "Accept-Encoding")
		if web.TakesGzip(r.Header) {
			h.Set("Content-Encoding", "gzip")
		} else {
			body = a.content()
		}
		h.Set("Content-Length", strconv.Itoa(len(body)))
		w.WriteHeader(http.StatusOK)
		if r.Method != http.MethodHead {
			_, _ = w.Write(body) // the client may have disconnected
		}
		return true
	}
	return false
}
