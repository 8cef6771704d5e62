package pages

import "errors"

// Libraries are the files of others, with their checksums.
var Libraries = libraries

// ParseAll parses every page, as each is parsed only when it is first shown.
func (s *Set) ParseAll() (pages int, err error) {
	for _, parse := range s.byName {
		_, failed := parse()
		err = errors.Join(err, failed)
	}
	return len(s.byName), err
}
