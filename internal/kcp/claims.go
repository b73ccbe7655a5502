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
	if err := d.setEntries(fieldClaims, claims); err != nil {
		return err
	}
	return d.showV1Alpha1(c)
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
		entry["verbs"] = anySlice(verbs)
	}
	return nil
}

// RemoveClaim takes back a claim that was added here. One of somebody else stays.
func (d *Draft) RemoveClaim(r schema.GroupResource) error {
	if !d.added(r) {
		return nil
	}
	added := slices.DeleteFunc(d.addedClaims(), func(s string) bool { return s == r.String() })
	d.setAdded(added)
	if err := d.remove(fieldClaims, "resource", r); err != nil {
		return err
	}
	return d.hideV1Alpha1(r)
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
	entry := map[string]any{"resource": c.Resource, "verbs": anySlice(c.Verbs)}
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

func anySlice(s []string) []any {
	out := make([]any, 0, len(s))
	for _, v := range s {
		out = append(out, v)
	}
	return out
}

func (d *Draft) addedClaims() []string {
	v := d.next.GetAnnotations()[AnnotationAddedClaims]
	if v == "" {
		return nil
	}
	return strings.Split(v, ",")
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
func (d *Draft) showV1Alpha1(c Claim) error {
	shown, i, err := d.shown(c.GroupResource)
	if err != nil {
		return err
	}
	if i < 0 {
		i = len(shown)
		shown = append(shown, apisv1alpha1.PermissionClaim{GroupResource: apisv1alpha1.GroupResource(c.GroupResource)})
	}
	selects := len(shown[i].ResourceSelector) > 0
	if (shown[i].All || selects) && shown[i].IdentityHash == c.IdentityHash {
		return nil
	}
	shown[i].All, shown[i].IdentityHash = !selects, c.IdentityHash
	return d.show(shown)
}

func (d *Draft) hideV1Alpha1(r schema.GroupResource) error {
	shown, i, err := d.shown(r)
	if err != nil || i < 0 {
		return err
	}
	return d.show(slices.Delete(shown, i, i+1))
}

// shown returns what clients of v1alpha1 see of claims beside their verbs, and the index of the claim to a resource, -1
// if there is none.
func (d *Draft) shown(r schema.GroupResource) (shown []apisv1alpha1.PermissionClaim, index int, err error) {
	if v := d.next.GetAnnotations()[annotationShown]; v != "" {
		err = json.Unmarshal([]byte(v), &shown)
	}
	index = slices.IndexFunc(shown, func(c apisv1alpha1.PermissionClaim) bool {
		return schema.GroupResource(c.GroupResource) == r
	})
	return shown, index, errors.Wrapf(err, "cannot read annotation %s of APIExport", annotationShown)
}

func (d *Draft) show(shown []apisv1alpha1.PermissionClaim) error {
	b, err := json.Marshal(shown)
	if err != nil {
		return errors.Wrap(err, "cannot encode claims")
	}
	if len(shown) == 0 {
		b = nil
	}
	d.SetAnnotation(annotationShown, string(b))
	return nil
}
