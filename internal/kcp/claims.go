package kcp

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	apisv1alpha1 "github.com/kcp-dev/sdk/apis/apis/v1alpha1"
	apisv1alpha2 "github.com/kcp-dev/sdk/apis/apis/v1alpha2"
	"github.com/pkg/errors"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// AnnotationAddedClaims is the annotation of an APIExport that lists the claims which were added here, so that they can
// be taken back: sorted, as resource.group, separated by commas.
const AnnotationAddedClaims = "syncagent.kcp.io/added-permission-claims"

// annotationShown is the annotation by which kcp keeps what v1alpha1 says of claims and v1alpha2 does not.
const annotationShown = apisv1alpha2.PermissionClaimsV1Alpha1Annotation

// verbAll is the verb of a claim to do anything.
const verbAll = "*"

// A Claim is a permission claim on resources in the workspaces of consumers.
type Claim struct {
	schema.GroupResource

	// IdentityHash is that of the APIExport the resource comes from, empty if it is one of kcp's own.
	IdentityHash string
	// Verbs are what is to be allowed, never empty.
	Verbs []string
}

// AddClaim claims at least what a Claim says. It fails if the resource is claimed with another identity, unless that
// claim was added here and is not kept by anyone.
func (d *Draft) AddClaim(c Claim, kept func(Claim) bool) error {
	claims := d.entries(fieldClaims)
	if entry := find(claims, "resource", c.GroupResource); entry == nil {
		claims = append(claims, claimEntry(c))
		slices.SortFunc(claims, func(a, b map[string]any) int { // As api-syncagent has them.
			return cmp.Or(cmp.Compare(textOf(a, "group"), textOf(b, "group")),
				cmp.Compare(textOf(a, "resource"), textOf(b, "resource")))
		})
		d.setAdded(append(d.addedClaims(), c.String()))
	} else if err := d.widen(entry, c, kept); err != nil {
		return err
	}
	d.setEntries(fieldClaims, claims)
	d.showV1Alpha1(c)
	return nil
}

// widen makes the entry of a resource claim at least what a Claim says.
func (d *Draft) widen(entry map[string]any, c Claim, kept func(Claim) bool) error {
	has := claimOf(entry)
	if has.IdentityHash != c.IdentityHash {
		if !d.added(c.GroupResource) || kept(has) {
			return errors.Errorf("the APIExport already claims %s with identityHash %q, and cannot have two: "+
				"set this identityHash in spec.related", c.GroupResource, has.IdentityHash)
		}
		entry["identityHash"] = c.IdentityHash
	}
	if verbs := Widened(has.Verbs, c.Verbs); len(verbs) > len(has.Verbs) {
		_ = unstructured.SetNestedStringSlice(entry, verbs, "verbs")
	}
	return nil
}

// RemoveClaim takes back a claim that was added here. One of somebody else stays.
func (d *Draft) RemoveClaim(r schema.GroupResource) {
	if !d.added(r) {
		return
	}
	d.setAdded(slices.DeleteFunc(d.addedClaims(), func(s string) bool { return s == r.String() }))
	d.remove(fieldClaims, "resource", r)
	if shown, i := d.shown(r); i >= 0 {
		d.show(slices.Delete(shown, i, i+1))
	}
}

// LacksIdentity reports whether kcp has refused an APIExport because a claim to an API that is not built in names no
// identity. kcp answers Forbidden then, as if a right was missing (v0.31.2, pkg/admission/apiexport).
func LacksIdentity(err error) bool {
	return apierrors.IsForbidden(err) && strings.Contains(err.Error(), "identityHash is required")
}

// Claims returns what an APIExport claims.
func (d *Draft) Claims() []Claim {
	var claims []Claim
	for _, e := range d.entries(fieldClaims) {
		claims = append(claims, claimOf(e))
	}
	return claims
}

func claimEntry(c Claim) map[string]any {
	entry := map[string]any{"resource": c.Resource}
	_ = unstructured.SetNestedStringSlice(entry, c.Verbs, "verbs") // Nothing is in its way.
	if c.Group != "" {
		entry["group"] = c.Group
	}
	if c.IdentityHash != "" {
		entry["identityHash"] = c.IdentityHash
	}
	return entry
}

func claimOf(entry map[string]any) Claim {
	c := Claim{IdentityHash: textOf(entry, "identityHash")}
	c.Group, c.Resource = textOf(entry, "group"), textOf(entry, "resource")
	c.Verbs, _, _ = unstructured.NestedStringSlice(entry, "verbs")
	return c
}

// Widened returns the verbs of a claim with those that are wanted and not allowed yet.
func Widened(has, want []string) []string {
	if slices.Contains(has, verbAll) {
		return has
	}
	all := slices.Clone(has)
	for _, v := range want {
		if !slices.Contains(all, v) {
			all = append(all, v)
		}
	}
	return all
}

func (d *Draft) addedClaims() []string {
	return strings.FieldsFunc(d.next.GetAnnotations()[AnnotationAddedClaims], func(r rune) bool { return r == ',' })
}

func (d *Draft) added(r schema.GroupResource) bool {
	return slices.Contains(d.addedClaims(), r.String())
}

func (d *Draft) setAdded(added []string) {
	slices.Sort(added)
	d.SetAnnotation(AnnotationAddedClaims, strings.Join(slices.Compact(added), ","))
}

// showV1Alpha1 makes a claim visible to clients of v1alpha1, for whom a claim is to all resources, to some, or void.
// What such a client has chosen stays.
func (d *Draft) showV1Alpha1(c Claim) {
	shown, i := d.shown(c.GroupResource)
	if i < 0 {
		i = len(shown)
		shown = append(shown, apisv1alpha1.PermissionClaim{GroupResource: apisv1alpha1.GroupResource(c.GroupResource)})
	}
	selects := len(shown[i].ResourceSelector) > 0
	if (shown[i].All || selects) && shown[i].IdentityHash == c.IdentityHash {
		return
	}
	shown[i].All, shown[i].IdentityHash = !selects, c.IdentityHash
	d.show(shown)
}

// shown returns what clients of v1alpha1 see of claims beside their verbs, and the index of the claim to a resource, -1
// if there is none.
func (d *Draft) shown(r schema.GroupResource) (shown []apisv1alpha1.PermissionClaim, index int) {
	// What cannot be read is written anew: kcp cannot read it either.
	_ = json.Unmarshal([]byte(d.next.GetAnnotations()[annotationShown]), &shown)
	return shown, slices.IndexFunc(shown, func(c apisv1alpha1.PermissionClaim) bool {
		return schema.GroupResource(c.GroupResource) == r
	})
}

func (d *Draft) show(shown []apisv1alpha1.PermissionClaim) {
	var b []byte
	if len(shown) > 0 {
		b, _ = json.Marshal(shown) //nolint:errchkjson // They are texts and flags.
	}
	d.SetAnnotation(annotationShown, string(b))
}
