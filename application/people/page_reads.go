package people

import (
	"context"
	"time"

	"waybill/domain"
	"waybill/ports"
)

// pagesPerPerson allows more than anybody reads and sends, even with a page that reloads itself.
var pagesPerPerson = domain.RateLimit{Limit: 300, Window: time.Minute}

// AdmitPage counts a page that a person reads at a site, or a form that they send. Beyond the limit
// it returns TOO_MANY_PAGES.
func (a *Access) AdmitPage(ctx context.Context, p domain.Principal) error {
	allowance, err := a.limiter.Take(ctx, ports.Bucket{Scope: "pages", Name: at(p.Site(), string(p.Reader())), Limit: pagesPerPerson})
	if err != nil {
		return domain.Internal(err)
	}
	if !allowance.Admitted {
		return &domain.Error{Kind: domain.KindLimited, Code: domain.CodeTooManyPages, RetryAfter: max(allowance.RetryAfter, time.Second),
			Message: "You have opened 300 pages or sent 300 forms within a minute, counted together, the most there may be. Wait a few seconds, " +
				"then do this again. A program works faster by the API."}
	}
	return nil
}
