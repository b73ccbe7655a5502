package cloud

import (
	"net/http"
	"slices"
	"strings"
)

// upboundToken exchanges a token of a user or robot for one of an organization. Principals are known by their
// organization.
func (c *Clouds) upboundToken(w http.ResponseWriter, r *http.Request) {
	if err := r.ParseForm(); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	organization, scoped := strings.CutPrefix(r.Form.Get("scope"), "upbound:org:")
	secret := r.Form.Get("subject_token")
	if !scoped || r.Form.Get("grant_type") != "urn:ietf:params:oauth:grant-type:token-exchange" ||
		r.Form.Get("subject_token_type") != "urn:ietf:params:oauth:token-type:id_token" ||
		r.Header.Get("Authorization") != "Bearer "+secret ||
		!slices.Equal(r.Form["audience"], []string{"upbound:spaces:api", "upbound:spaces:controlplanes"}) {
		organization = ""
	}
	c.answer(w, organization, secret)
}
