package object

import (
	"context"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crossplane-contrib/provider-kcp/internal/apply"
	"github.com/crossplane-contrib/provider-kcp/internal/policy"
)

// send sends the manifest in the request that can do no more than the policies allow, even if somebody makes or deletes the resource
// at this moment.
func (e *external) send(ctx context.Context, o Object, live *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	c, p := e.cluster.Resource(e.mapping.Resource, e.manifest.GetNamespace()), o.GetManagementPolicies()
	switch {
	case policy.Owns(p):
		return apply.Apply(ctx, c, e.manifest, e.manager)
	case policy.Allows(p, xpv2.ManagementActionCreate):
		return apply.Create(ctx, c, e.manifest, e.manager)
	}
	return apply.Update(ctx, c, e.manifest, apply.Target{UID: live.GetUID(), Manager: e.manager})
}
