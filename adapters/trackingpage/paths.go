package trackingpage

import (
	"net/url"
	"slices"
	"strings"
)

// publicPath holds the path of tracking pages, whatever their public address is.
const publicPath = "/track"

// Paths returns the paths to serve tracking pages at. It leaves out a path that would hide
// another site of the listener: a proxy must forward such an address to publicPath. The first
// path that matches is used.
func Paths(base string) []string {
	u, err := url.Parse(base)
	if err != nil || u.Path == publicPath {
		return []string{publicPath} // the settings reported the error
	}
	first, _, _ := strings.Cut(strings.TrimPrefix(u.Path, "/"), "/")
	if slices.Contains([]string{"", "v1", "docs"}, first) {
		return []string{publicPath}
	}
	return []string{u.Path, publicPath}
}
