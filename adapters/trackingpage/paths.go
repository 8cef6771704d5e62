package trackingpage

import (
	"net/url"
	"slices"
	"strings"
)

// publicPath is where tracking pages are whatever their public address is.
const publicPath = "/track"

// Paths leaves out what would hide another site of the listener: a
// proxy before such an address has to lead to publicPath. The first one that
// fits is asked.
func Paths(base string) []string {
	u, err := url.Parse(base)
	if err != nil || u.Path == publicPath {
		return []string{publicPath} // an error was told with the settings
	}
	first, _, _ := strings.Cut(strings.TrimPrefix(u.Path, "/"), "/")
	if slices.Contains([]string{"", "v1", "docs"}, first) {
		return []string{publicPath}
	}
	return []string{u.Path, publicPath}
}
