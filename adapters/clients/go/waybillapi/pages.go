package waybillapi

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
)

// Page is one page of a list.
type Page[T any] struct {
	Items []T
	// HasMore is true when there is another page, and NextCursor leads to it.
	HasMore    bool
	NextCursor string
	// ResumeCursor is the position from which the feed of events goes on, now or later. Other lists
	// have none.
	ResumeCursor string
	Limit        int
}

// page calls and returns a page.
func page[T any](ctx context.Context, c *Client, made call, options []CallOption) (*Page[T], error) {
	got, err := decoded[[]T](ctx, c, made, options)
	if err != nil {
		return nil, err
	}
	var meta struct {
		Limit      int    `json:"limit"`
		HasMore    bool   `json:"has_more"`
		NextCursor string `json:"next_cursor"`
		Resume     string `json:"resume_cursor"`
	}
	if err := json.Unmarshal(got.Meta, &meta); err != nil {
		return nil, fmt.Errorf("waybillapi: %s: the answer has no place in the list: %w", made.name, err)
	}
	return &Page[T]{Items: got.Data, HasMore: meta.HasMore, NextCursor: meta.NextCursor, ResumeCursor: meta.Resume, Limit: meta.Limit}, nil
}

// each walks the pages from a cursor on. A page is fetched when its first row is
// asked for.
func each[T any](cursor string, fetch func(cursor string) (*Page[T], error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for cursor := cursor; ; {
			page, err := fetch(cursor)
			if err != nil {
				var none T
				yield(none, err)
				return
			}
			for _, item := range page.Items {
				if !yield(item, nil) {
					return
				}
			}
			if !page.HasMore || page.NextCursor == "" {
				return
			}
			cursor = page.NextCursor
		}
	}
}
