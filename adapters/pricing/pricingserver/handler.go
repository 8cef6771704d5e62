package pricingserver

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"waybill/domain"
	"waybill/ports"
)

// maxQuestion is some twenty times the size of a request.
const maxQuestion = 4 << 10

// Options configures the handler.
type Options struct {
	Pricing  ports.Pricing
	Currency string       // a request in another one is refused
	Logger   *slog.Logger // logs the cause of each 503; nil: slog.Default
}

type handler struct {
	pricing  ports.Pricing
	currency string
	log      *slog.Logger
}

// New returns the handler of the whole protocol. The server sets the timeouts of connections.
func New(o Options) http.Handler {
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	h := &handler{pricing: o.Pricing, currency: o.Currency, log: o.Logger}
	mux := http.NewServeMux()
	mux.HandleFunc("/prices", only(http.MethodPost, h.prices))
	mux.HandleFunc("/healthz", only(http.MethodGet, func(w http.ResponseWriter, _ *http.Request) {
		write(w, http.StatusOK, map[string]string{"status": "ok"})
	}))
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		write(w, http.StatusNotFound, refusal{Code: "NOT_FOUND", Message: "there is POST /prices and GET /healthz"})
	})
	return mux
}

// only replaces the mux's own method patterns, whose 405 is plain text.
func only(method string, next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.Method != method && !(method == http.MethodGet && r.Method == http.MethodHead) {
			w.Header().Set("Allow", method)
			write(w, http.StatusMethodNotAllowed, refusal{Code: "METHOD_NOT_ALLOWED", Message: "use " + method})
			return
		}
		next(w, r)
	}
}

func (h *handler) prices(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxQuestion))
	if err != nil {
		write(w, http.StatusBadRequest, refusal{Code: domain.CodeInvalidRequest, Message: "the question could not be read: " + err.Error()})
		return
	}
	trip, err := h.readTrip(body)
	if err != nil {
		write(w, http.StatusBadRequest, refusal{Code: domain.CodeInvalidRequest, Message: err.Error()})
		return
	}
	quote, err := h.pricing.Price(r.Context(), trip)
	var outside *ports.OutsideServiceAreaError
	if errors.As(err, &outside) {
		write(w, http.StatusUnprocessableEntity, refusal{Code: "OUTSIDE_SERVICE_AREA", Field: outside.End})
		return
	}
	if err == nil {
		err = h.consistent(quote)
	}
	if err != nil {
		h.unavailable(w, r, err)
		return
	}
	write(w, http.StatusOK, newPrice(quote))
}

// consistent stops an inconsistent price of the pricing behind this server.
func (h *handler) consistent(q domain.Quote) error {
	switch {
	case q.Currency != h.currency || q.Fee != nil && q.Fee.Currency != h.currency:
		return fmt.Errorf("the quote is in %q, want %q", q.Currency, h.currency)
	case (q.Fee == nil) != q.RequiresCustomQuote:
		return errors.New("a quote has a fee or requires a custom quote, and never both")
	case q.Fee != nil && q.Fee.Minor < 0:
		return fmt.Errorf("the fee is %d", q.Fee.Minor)
	case !(q.Distance.Kilometres >= 0) || math.IsInf(q.Distance.Kilometres, 0):
		return fmt.Errorf("the distance is %v km", q.Distance.Kilometres)
	}
	return nil
}

func (h *handler) unavailable(w http.ResponseWriter, r *http.Request, err error) {
	h.log.ErrorContext(r.Context(), "no price", "error", err)
	wait := time.Second
	var e *domain.Error
	if errors.As(err, &e) && e.RetryAfter > 0 {
		wait = e.RetryAfter
	}
	w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(wait.Seconds()))))
	write(w, http.StatusServiceUnavailable, refusal{Code: domain.CodeQuoteUnavailable})
}

type price struct {
	Currency            string         `json:"currency"`
	Fee                 jsontext.Value `json:"fee,omitzero"`
	DistanceKM          float64        `json:"distance_km"`
	DistanceSource      string         `json:"distance_source"`
	RequiresCustomQuote bool           `json:"requires_custom_quote"`
}

func newPrice(q domain.Quote) price {
	p := price{
		Currency:            q.Currency,
		DistanceKM:          q.Distance.Kilometres,
		DistanceSource:      string(q.Distance.Source),
		RequiresCustomQuote: q.RequiresCustomQuote,
	}
	if q.Fee != nil {
		p.Fee = jsontext.Value(q.Fee.Decimal())
	}
	return p
}

type refusal struct {
	Code    string `json:"code"`
	Field   string `json:"field,omitzero"`
	Message string `json:"message,omitzero"`
}

func write(w http.ResponseWriter, status int, body any) {
	// Every body here marshals: strings, and numbers that were checked.
	text, err := json.Marshal(body)
	if err != nil {
		status, text = http.StatusInternalServerError, []byte(`{"code":"`+domain.CodeInternal+`"}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(text, '\n')) // the client may have gone
}
