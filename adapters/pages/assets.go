package pages

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"net/http"
	"path"
	"strconv"
	"strings"
	"sync"
)

// Policy is the Content-Security-Policy of every page: nothing from elsewhere, and
// nothing that is written into a page could run.
const Policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; " +
	"connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

//go:embed assets
var assetFiles embed.FS

// Tokens are the colours and fonts, as a sheet of CSS.
func Tokens() []byte { return read("tokens.css") }

// Icon is the logo, as SVG.
func Icon() []byte { return read("icon.svg") }

func read(file string) []byte {
	content, err := assetFiles.ReadFile("assets/" + file)
	if err != nil {
		panic(err) // it is embedded
	}
	return content
}

// asset is a file that pages load. Its name changes with its content, so that it may
// be kept for good.
type asset struct {
	name, kind      string
	content, packed []byte
}

var assets = sync.OnceValue(func() map[string]asset {
	all := map[string]asset{}
	for file, kind := range map[string]string{
		"pages.css": "text/css; charset=utf-8", "pages.js": "text/javascript; charset=utf-8",
		"passkeys.js": "text/javascript; charset=utf-8", "inbox.js": "text/javascript; charset=utf-8",
		"board.js": "text/javascript; charset=utf-8", "icon.svg": "image/svg+xml",
	} {
		content := read(file)
		if file == "pages.css" {
			content = append(Tokens(), content...)
		}
		sum := sha256.Sum256(content)
		extension := path.Ext(file)
		all[file] = asset{
			name: strings.TrimSuffix(file, extension) + "." + hex.EncodeToString(sum[:6]) + extension,
			kind: kind, content: content, packed: packed(content),
		}
	}
	return all
})

func packed(content []byte) []byte {
	var b bytes.Buffer
	w, _ := gzip.NewWriterLevel(&b, gzip.BestCompression) // the level is one there is
	_, _ = w.Write(content)                               // a buffer takes everything
	_ = w.Close()
	return b.Bytes()
}

// ServeAsset answers for a file that pages load, by the name in their links, and
// reports whether there is one.
func ServeAsset(w http.ResponseWriter, r *http.Request, name string) bool {
	for _, a := range assets() {
		if a.name != name {
			continue
		}
		h, body := w.Header(), a.content
		h.Set("Content-Type", a.kind)
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
		h.Set("Vary", "Accept-Encoding")
		if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
			h.Set("Content-Encoding", "gzip")
			body = a.packed
		}
		h.Set("Content-Length", strconv.Itoa(len(body)))
		w.WriteHeader(http.StatusOK)
		if r.Method != http.MethodHead {
			_, _ = w.Write(body) // a reader who left is no failure
		}
		return true
	}
	return false
}
