package opsapi

import (
	"waybill/adapters/web"
	"waybill/adapters/web/strictjson"
	"waybill/application/people"
	"waybill/domain"
)

var portalLinkShape = strictjson.Object{"email": strictjson.Leaf, "name": strictjson.Leaf, "role": strictjson.Leaf}

// portalLinkView is a sign-in link. It is shown only once.
type portalLinkView struct {
	PersonID  string `json:"person_id"`
	Email     string `json:"email"`
	Role      string `json:"role"` // that the person has: an existing member keeps it
	Purpose   string `json:"purpose"`
	Link      string `json:"link"`
	ExpiresAt string `json:"expires_at"`
}

func (m *Management) createPortalLink(c *call) (reply, error) {
	id, err := c.id("business_id", domain.PrefixBusiness)
	if err != nil {
		return reply{}, err
	}
	r := strictjson.NewReader(c.body)
	email, _ := r.Text("email", strictjson.Required, strictjson.Fit(emailFault))
	name := readName(r, strictjson.Required)
	role, _ := r.Enum("role", strictjson.Required, web.Texts(domain.Roles(domain.Portal)))
	if err := web.Problems(r); err != nil {
		return reply{}, err
	}
	issued, err := m.People.OpenPortal(c.Request.Context(), c.by, people.Invitation{BusinessID: id, Email: email, Name: *name, Role: role})
	if err != nil {
		return reply{}, err
	}
	return created("/businesses/"+string(id), "Link made. It lets this person in once; it is not shown again.", portalLinkView{
		PersonID: string(issued.PersonID), Email: string(issued.Member.Person.Email), Role: string(issued.Member.Membership.Role),
		Purpose: string(issued.Purpose), Link: m.PortalBaseURL + "/enter/" + issued.Secret, ExpiresAt: domain.FormatTime(issued.ExpiresAt),
	}), nil
}

func emailFault(text string) string {
	if _, err := domain.ParseEmail(text); err != nil {
		return "must be an e-mail address such as ama@example.com, in ASCII and of at most 254 characters"
	}
	return ""
}
