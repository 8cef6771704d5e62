package people

import (
	"context"
	"time"

	"waybill/domain"
	"waybill/ports"
)

// pagesPerPerson is more than anybody reads, also with a page that reloads itself.
var pagesPerPerson = domain.RateLimit{Limit: 300, Window: time.Minute}

// AdmitRead counts a page that a person reads at a site, or answers TOO_MANY_PAGES.
func (a *Access) AdmitRead(ctx context.Context, p domain.Principal) error {
	allowance, err := a.limiter.Take(ctx, ports.Bucket{Scope: "pages", Name: at(p.Site(), string(p.Reader())), Limit: pagesPerPerson})
	if err != nil {
		return domain.Internal(err)
	}
	if !allowance.Admitted {
		return &domain.Error{Kind: domain.KindLimited, Code: domain.CodeTooManyPages, RetryAfter: max(allowance.RetryAfter, time.Second),
			Message: "You have read 300 pages within a minute, the most there may be. Wait a few seconds, then reload this page. A program " +
				"reads faster by the API."}
	}
	return nil
}
