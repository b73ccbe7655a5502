package object

import (
	"context"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	"github.com/crossplane-contrib/provider-kcp/internal/apply"
	"github.com/crossplane-contrib/provider-kcp/internal/policy"
)

// send sends the manifest in the request that can do no more than the policies allow, even if somebody makes or deletes
// the resource at this moment.
func (e *external) send(ctx context.Context, o Object,
	live *unstructured.Unstructured,
) (*unstructured.Unstructured, error) {
	c, p := e.client(), o.GetManagementPolicies()
	switch {
	case policy.Owns(p):
		return apply.Apply(ctx, c, e.manifest, e.manager)
	case policy.Allows(p, xpv2.ManagementActionCreate):
		return apply.Create(ctx, c, e.manifest, e.manager)
	}
	return apply.Update(ctx, c, e.manifest, apply.Target{UID: live.GetUID(), Manager: e.manager})
}

// client returns a client for the manifest, whose errors repeat nothing that references have put into it from Secrets.
func (e *external) client() dynamic.ResourceInterface {
	p := apply.Private{Content: e.manifest.Object}
	for _, v := range e.pass.references.Values() {
		if v.Secret {
			p.Secret, p.Fields = true, append(p.Fields, v.To)
		}
	}
	return apply.Discreet(e.cluster.Resource(e.mapping.Resource, e.manifest.GetNamespace()), p)
}
