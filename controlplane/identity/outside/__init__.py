"""What is asked elsewhere: an LDAP directory, an OpenID provider. Nothing here touches rows."""
