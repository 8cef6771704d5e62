package trackingpage

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"net/http"
	"path"
	"strings"

	"github.com/gin-gonic/gin"

	"waybill/adapters/pages"
)

//go:embed assets/track.css assets/track.js
var assetFiles embed.FS

// asset is a file that the page loads. Its name changes with its content, so that browsers may
// cache it forever.
type asset struct {
	name, kind string
	content    []byte
}

// assetNames holds the file names that the template links to.
type assetNames struct{ Style, Script, Icon string }

func loadAssets() (names assetNames, byName map[string]asset) {
	byName = map[string]asset{}
	load := func(file, kind string) string {
		content := readAsset(file)
		sum := sha256.Sum256(content)
		extension := path.Ext(file)
		name := strings.TrimSuffix(file, extension) + "." + hex.EncodeToString(sum[:6]) + extension
		byName[name] = asset{name: name, kind: kind, content: content}
		return name
	}
	return assetNames{
		Style:  load("track.css", "text/css; charset=utf-8"),
		Script: load("track.js", "text/javascript; charset=utf-8"),
		Icon:   load("icon.svg", "image/svg+xml"),
	}, byName
}

func readAsset(file string) []byte {
	if file == "icon.svg" {
		return pages.Icon()
	}
	content, err := assetFiles.ReadFile("assets/" + file)
	if err != nil {
		panic(err) // the file is embedded
	}
	if file == "track.css" {
		return append(pages.Tokens(), content...)
	}
	return content
}

// asset serves assets/<name> below any path, since a page at a mistyped path with a slash links
// to its assets from there. It reports whether there is one.
func (p *Pages) asset(c *gin.Context) bool {
	dir, name := path.Split(c.Request.URL.Path)
	if !strings.HasSuffix(dir, "/assets/") {
		return false
	}
	if p.options.Brand.Serve(c.Writer, c.Request, name) {
		return true
	}
	a, ok := p.assets[name]
	if !ok {
		return false
	}
	c.Header("Cache-Control", "public, max-age=31536000, immutable")
	send(c, http.StatusOK, a.kind, a.content)
	return true
}
